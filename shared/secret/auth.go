package secret

import "slices"

// Type says how a server's credential is sent.
type Type string

// The types.
const (
	TypeNone    Type = "none"
	TypeBearer  Type = "bearer"  // Authorization: Bearer <value>
	TypeHeaders Type = "headers" // the value alone, in headers of the operator's choice
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
}

// Bearer is the auth of type bearer with the secret ref.
func Bearer(ref string) Auth {
	return Auth{Type: TypeBearer, Headers: []Header{{As: authorization, Ref: ref}}}
}

// References lists the secrets that a uses, each once, in order.
func (a Auth) References() []string {
	var refs []string
	for _, h := range a.Headers {
		if !slices.Contains(refs, h.Ref) {
			refs = append(refs, h.Ref)
		}
	}
	return refs
}
