package secret

import (
	"maps"
	"slices"
)

// Type says how a server's credential is sent.
type Type string

// The types.
const (
	TypeNone    Type = "none"
	TypeBearer  Type = "bearer"  // Authorization: Bearer <value>
	TypeHeaders Type = "headers" // the value alone, in headers of the operator's choice

	TypeEnvironment Type = "environment" // the value alone, in variables of a child process
)

// Header puts the secret Ref into the header named As.
type Header struct {
	As  string
	Ref string
}

// Auth is a server's credential as registered. The zero Auth sends none.
type Auth struct {
	Type    Type
	Headers []Header // of bearer exactly one, As "Authorization"

	Environment map[string]string // of environment: variable -> reference
}

// Bearer is the auth of type bearer with the secret ref.
func Bearer(ref string) Auth {
	return Auth{Type: TypeBearer, Headers: []Header{{As: authorization, Ref: ref}}}
}

// References lists the secrets that a uses, each once: of headers in their
// order, of an environment in the order of the variables.
func (a Auth) References() []string {
	var refs []string
	for _, h := range a.Headers {
		refs = append(refs, h.Ref)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Environment)) {
		refs = append(refs, a.Environment[name])
	}
	return unique(refs...)
}

// unique drops empty references and repetitions.
func unique(refs ...string) []string {
	var all []string
	for _, ref := range refs {
		if ref != "" && !slices.Contains(all, ref) {
			all = append(all, ref)
		}
	}
	return all
}
