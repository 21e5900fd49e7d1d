package secret

import (
	"net/http"

	"mcprelay/shared/call"
)

// MinLength is the shortest secret that is used, in bytes. Masking anything
// shorter would shred replies that only happen to contain it.
const MinLength = 8

// MaxLength is the longest secret that is used: an eighth of the 64 KiB that
// servers commonly accept as a request's head.
const MaxLength = 8 << 10

// Use says that a secret was used, and which version of it.
type Use struct {
	Ref     string
	Version string
}

// Binding is a server's credential, ready to be sent. The zero Binding sends
// nothing.
type Binding struct {
	fields    []field
	variables []variable
	uses      []Use
}

type field struct {
	name   string // canonical
	prefix string
	value  Value
}

// Bind puts values, by reference, into the headers or the variables of a. A
// value that they cannot carry unchanged is refused with the position of its
// first bad byte; nothing is trimmed. The refusal is secret_missing or
// secret_unusable.
func Bind(a Auth, values map[string]Value) (Binding, *call.Refusal) {
	variables, refusal := bindVariables(a, values)
	if refusal != nil {
		return Binding{}, refusal
	}
	b := Binding{variables: variables}
	for _, h := range a.Headers {
		value, ok := values[h.Ref]
		if !ok || value.Len() == 0 {
			return Binding{}, call.Refuse(call.SecretMissing, "secret %s is not set", h.Ref)
		}
		f, refusal := bind(a.Type, h, value)
		if refusal != nil {
			return Binding{}, refusal
		}
		b.fields = append(b.fields, f)
	}
	for _, ref := range a.References() {
		b.uses = append(b.uses, Use{Ref: ref, Version: values[ref].Version()})
	}
	return b, nil
}

func bind(t Type, h Header, v Value) (field, *call.Refusal) {
	if err := HeaderName(h.As); err != nil {
		return field{}, call.Refuse(call.SecretUnusable, "header of secret %s: %v", h.Ref, err)
	}
	f := field{name: http.CanonicalHeaderKey(h.As), value: v}
	bad := badHeaderByte
	switch t {
	case TypeBearer:
		f.prefix, bad = "Bearer ", badBearerByte
	case TypeHeaders:
	default:
		return field{}, call.Refuse(call.SecretUnusable, "auth type %q sends no headers", t)
	}
	if n := v.Len(); n < MinLength || n > MaxLength {
		return field{}, call.Refuse(call.SecretUnusable, "secret %s has %d bytes, not %d to %d", h.Ref, n, MinLength, MaxLength)
	}
	if at := bad(v.Expose()); at >= 0 {
		return field{}, call.Refuse(call.SecretUnusable, "byte %d of secret %s cannot be sent as %s", at+1, h.Ref, t)
	}
	return f, nil
}

// badBearerByte finds the first byte outside b64token (RFC 6750 section 2.1):
// 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"=". It is -1 where
// there is none.
func badBearerByte(b []byte) int {
	padding := false
	for i, c := range b {
		switch {
		case c == '=' && i > 0:
			padding = true
		case padding:
			return i
		case alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~' || c == '+' || c == '/':
		default:
			return i
		}
	}
	return -1
}

// badHeaderByte finds the first byte that is not visible ASCII, or a blank at
// either end, which would be trimmed on the way. It is -1 where there is none.
func badHeaderByte(b []byte) int {
	for i, c := range b {
		if c == ' ' && i > 0 && i < len(b)-1 {
			continue
		}
		if c < 0x21 || c > 0x7e {
			return i
		}
	}
	return -1
}

// Apply sets the credential's headers, replacing any of the same name.
func (b Binding) Apply(h http.Header) {
	for _, f := range b.fields {
		h[f.name] = []string{f.prefix + string(f.value.Expose())}
	}
}

// Values lists every secret of b, and what a server might repeat of it: of a
// value in several words, the words that are long enough to be masked.
func (b Binding) Values() []Value {
	var values []Value
	for _, f := range b.fields {
		values = append(values, f.value)
		values = append(values, words(f.value)...)
	}
	for _, v := range b.variables {
		values = append(values, v.value)
		values = append(values, words(v.value)...)
	}
	return values
}

// Uses lists the secrets of b, each once.
func (b Binding) Uses() []Use { return b.uses }
