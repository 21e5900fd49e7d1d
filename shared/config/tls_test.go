package config_test

import (
	"slices"
	"testing"

	"mcprelay/shared/config"
	"mcprelay/shared/secret"

	"github.com/google/go-cmp/cmp"
)

// secured is an entry with TLS settings and the secrets ca, cert and key.
func secured(tls any, changes ...any) object {
	return with(entry("docs", append([]any{"tls", tls}, changes...)...), "secrets", object{"ca": "CA", "cert": "CERT", "key": "KEY"})
}

func TestUsableTLSSettings(t *testing.T) {
	for name, c := range map[string]struct {
		tls  object
		want secret.TLSRefs
	}{
		"a CA":           {object{"ca_ref": "ca"}, secret.TLSRefs{CA: "ca"}},
		"a certificate":  {object{"client_cert_ref": "cert", "client_key_ref": "key"}, secret.TLSRefs{Cert: "cert", Key: "key"}},
		"all three":      {object{"ca_ref": "ca", "client_cert_ref": "cert", "client_key_ref": "key"}, secret.TLSRefs{CA: "ca", Cert: "cert", Key: "key"}},
		"beside a token": {object{"ca_ref": "ca"}, secret.TLSRefs{CA: "ca"}},
	} {
		e := secured(c.tls)
		if name == "beside a token" {
			e = secured(c.tls, "auth", object{"type": "bearer", "token_ref": "key"})
		}
		server := read(t, one(e), config.Options{}).Tenant.Servers["docs"]
		if server.TLS != c.want {
			t.Errorf("%s: got %+v, want %+v", name, server.TLS, c.want)
		}
		for _, ref := range c.want.References() {
			if !slices.Contains(server.References(), ref) {
				t.Errorf("%s: %s needs no rule", name, ref)
			}
		}
	}
}

func TestEachProblemOfTLSSettingsNamesItsField(t *testing.T) {
	const at = "servers[0].config.tls"
	for _, c := range []struct {
		name  string
		entry object
		want  []string
	}{
		{"another kind", secured("ca"), []string{at + ": it must be an object"}},
		{"none", secured(object{}), []string{at + ": it is empty: ca_ref, client_cert_ref with client_key_ref, or all three are needed"}},
		{"an unknown field", secured(object{"ca_ref": "ca", "insecure": true}), []string{at + ".insecure: it is not a known field"}},
		{"no key", secured(object{"client_cert_ref": "cert"}), []string{at + ".client_key_ref: it is missing: a client certificate needs its key"}},
		{"no certificate", secured(object{"ca_ref": "ca", "client_key_ref": "key"}), []string{at + ".client_cert_ref: it is missing: a key needs its client certificate"}},
		{"no secret", secured(object{"ca_ref": "other"}), []string{at + ".ca_ref: it is not in the entry's secrets"}},
		{"a reference of another kind", secured(object{"ca_ref": 1}), []string{at + ".ca_ref: it must be a string"}},
		{"references of another kind", secured(object{"client_cert_ref": 1, "client_key_ref": 2}), []string{at + ".client_cert_ref: it must be a string", at + ".client_key_ref: it must be a string"}},
		{"one secret for two", secured(object{"client_cert_ref": "cert", "client_key_ref": "cert"}), []string{at + ".client_key_ref: another field has this reference: the parts are secrets of their own"}},
		{"PEM in the file", secured(object{"ca_ref": "-----BEGIN CERTIFICATE-----"}), []string{at + ".ca_ref: it must begin with one of a-z A-Z 0-9"}},
	} {
		if diff := cmp.Diff(c.want, problems(t, one(c.entry), config.Options{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	plain := secured(object{"ca_ref": "ca"}, "endpoint", "http://127.0.0.1:9/mcp")
	if diff := cmp.Diff([]string{at + ": the endpoint is not https"}, problems(t, one(plain), config.Options{Loopback: true})); diff != "" {
		t.Errorf("plain http (-want +got):\n%s", diff)
	}
}

func TestIPv6IsAChoice(t *testing.T) {
	for value, want := range map[any]bool{nil: false, false: false, true: true} {
		if got := read(t, one(entry("docs", "ipv6", value)), config.Options{}).Tenant.Servers["docs"].IPv6; got != want {
			t.Errorf("%v: got %v, want %v", value, got, want)
		}
	}
}

func TestServersOfferedToOneCaller(t *testing.T) {
	for value, want := range map[any]int{nil: 8, 1: 1, 64: 64} {
		if got := read(t, file([]any{}, "max_servers", value), config.Options{}).Tenant.Settings.MaxServers; got != want {
			t.Errorf("%v: got %d, want %d", value, got, want)
		}
	}
}
