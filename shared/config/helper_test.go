package config_test

import (
	"encoding/json"
	"errors"
	"maps"
	"testing"

	"mcprelay/shared/config"
)

// object is a JSON object that a test changes before it is written.
type object = map[string]any

const url = "https://mcp.example.com/v1"

// entry is a usable server entry; each change is key, value of its config.
func entry(name string, changes ...any) object {
	c := object{"endpoint": url}
	set(c, changes)
	return object{"name": name, "config": c}
}

// child is a usable entry of a child process.
func child(name string, changes ...any) object {
	return entry(name, append([]any{"endpoint", nil, "command", "docs-mcp"}, changes...)...)
}

// set puts pairs of keys and values into o; a nil value removes the key.
func set(o object, pairs []any) {
	for i := 0; i < len(pairs); i += 2 {
		if key := pairs[i].(string); pairs[i+1] == nil {
			delete(o, key)
		} else {
			o[key] = pairs[i+1]
		}
	}
}

// with changes keys of the entry itself.
func with(e object, pairs ...any) object {
	e = maps.Clone(e)
	set(e, pairs)
	return e
}

// file is a config file of tenant acme with the servers; changes are its other keys.
func file(servers []any, changes ...any) object {
	f := object{"tenant": "acme", "servers": servers}
	set(f, changes)
	return f
}

// one is a file with one server.
func one(e object) object { return file([]any{e}) }

// denies is a policy that can be used.
const denies = "package mcprelay.policy\n\ndeny contains \"no\" if input.relay.effect != \"read\"\n"

// issuer is a usable issuer.
func issuer(changes ...any) object {
	i := object{"issuer": "https://login.example.com", "jwks_uri": "https://login.example.com/keys", "audience": "https://relay.example.com/v1/mcp", "kind": "user"}
	set(i, changes)
	return i
}

// ed is the public key of RFC 8037 appendix A.2.
func ed(changes ...any) object {
	k := object{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
	set(k, changes)
	return k
}

func keySet(keys ...any) object { return object{"keys": append([]any{}, keys...)} }

func text(t testing.TB, v any) []byte {
	t.Helper()
	if s, ok := v.(string); ok {
		return []byte(s)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// read wants a usable file.
func read(t testing.TB, v any, o config.Options) *config.Config {
	t.Helper()
	c, err := config.Parse("relay.json", text(t, v), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// problems are the lines of the error, without the name of the file.
func problems(t testing.TB, v any, o config.Options) []string {
	t.Helper()
	_, err := config.Parse("relay.json", text(t, v), o)
	if err == nil {
		return nil
	}
	var all *config.Error
	if !errors.As(err, &all) || len(all.Problems) == 0 {
		t.Fatalf("got %v, want an *Error", err)
	}
	var lines []string
	for _, p := range all.Problems {
		if p.File != "relay.json" {
			t.Errorf("the file of %v is %q", p, p.File)
		}
		lines = append(lines, p.Path+": "+p.Reason)
	}
	return lines
}

// raw is a literal that Go would write differently.
func raw(literal string) any { return json.RawMessage(literal) }
