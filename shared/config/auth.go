package config

import (
	"net/http"

	"mcprelay/shared/registry"
	"mcprelay/shared/secret"
)

// maxAuthHeaders bounds the headers of one credential.
const maxAuthHeaders = 8

// readAuth reads config.auth, none where it is not there, and checks that its
// references are among those of the entry's secrets.
func readAuth(n node, secrets map[string]secret.Source) secret.Auth {
	if !n.present() {
		return secret.Auth{Type: secret.TypeNone}
	}
	if !n.is('{', "an object") {
		return secret.Auth{}
	}
	kind := object{n}.get("type")
	switch t := secret.Type(kind.text()); t {
	case secret.TypeNone:
		n.object("type")
		return secret.Auth{Type: t}
	case secret.TypeBearer:
		return secret.Bearer(readReference(n.object("type token_ref").get("token_ref"), secrets))
	case secret.TypeHeaders:
		return readHeaders(n.object("type headers").get("headers"), secrets)
	case secret.TypeEnvironment:
		kind.fail("a server with an endpoint gets its credential in headers; auth type environment is for a child process")
	case "query", "oauth_client_credentials", "oauth_user", "oauth_dcr", "aws_sigv4":
		kind.fail("auth type %s is not supported by this version", t)
	default:
		if kind.kind == '"' {
			kind.fail("it is not one of none, bearer, headers")
		}
	}
	return secret.Auth{}
}

func readHeaders(n node, secrets map[string]secret.Source) secret.Auth {
	auth := secret.Auth{Type: secret.TypeHeaders}
	if !n.is('[', "a list") {
		return auth
	}
	if len(n.items) == 0 || len(n.items) > maxAuthHeaders {
		n.fail("it must have 1 to %d headers", maxAuthHeaders)
	}
	seen := make(map[string]bool)
	for _, item := range n.items {
		o := item.object("as token_ref")
		h := secret.Header{As: o.get("as").name(secret.HeaderName), Ref: readReference(o.get("token_ref"), secrets)}
		if canonical := http.CanonicalHeaderKey(h.As); seen[canonical] {
			o.get("as").fail("another header has this name")
		} else {
			seen[canonical] = true
		}
		auth.Headers = append(auth.Headers, h)
	}
	return auth
}

func readReference(n node, secrets map[string]secret.Source) string {
	ref := n.name(registry.Reference)
	if _, ok := secrets[ref]; ok || registry.Reference(ref) != nil {
		return ref
	}
	if value(ref) {
		n.check(errValue)
	} else {
		n.fail("it is not in the entry's secrets")
	}
	return ref
}
