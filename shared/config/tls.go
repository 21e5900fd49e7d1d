package config

import (
	"mcprelay/shared/registry"
	"mcprelay/shared/secret"
)

// readTLS reads config.tls: references to a private CA, to a client
// certificate and its key, or to all three.
func readTLS(n node, s *registry.Server) secret.TLSRefs {
	var refs secret.TLSRefs
	if !n.present() {
		return refs
	}
	o := n.object("ca_ref client_cert_ref client_key_ref")
	if !o.present() {
		return refs
	}
	seen := make(map[string]bool)
	for _, field := range []struct {
		name string
		set  *string
	}{{"ca_ref", &refs.CA}, {"client_cert_ref", &refs.Cert}, {"client_key_ref", &refs.Key}} {
		at := o.get(field.name)
		if !at.present() {
			continue
		}
		*field.set = readReference(at, s.Secrets)
		if ref := *field.set; ref != "" && seen[ref] {
			at.fail("another field has this reference: the parts are secrets of their own")
		}
		seen[*field.set] = true
	}
	cert, key := o.get("client_cert_ref"), o.get("client_key_ref")
	switch {
	case len(o.members) == 0:
		n.fail("it is empty: ca_ref, client_cert_ref with client_key_ref, or all three are needed")
	case cert.present() && !key.present():
		key.fail("it is missing: a client certificate needs its key")
	case key.present() && !cert.present():
		cert.fail("it is missing: a key needs its client certificate")
	case !s.Endpoint.IsZero() && !s.Endpoint.TLS():
		n.fail("the endpoint is not https")
	}
	return refs
}
