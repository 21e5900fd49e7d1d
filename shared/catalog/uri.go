package catalog

import (
	"strings"
	"unicode/utf8"
)

// resourcePrefix begins the URI of each resource among those of all servers.
const resourcePrefix = "mcprelay://resource/v1/"

// ResourceURI is the URI under which the resource of a server is offered
// beside those of others: mcprelay://resource/v1/<server>/ and the server's
// own, which is valid UTF-8, with each byte but the unreserved ones
// percent-encoded in upper case (RFC 3986 sections 2.1 and 2.3).
func ResourceURI(server, uri string) string {
	return string(appendEncoded([]byte(resourcePrefix+server+"/"), uri))
}

// SplitResource is the exact inverse of [ResourceURI], and refuses whatever
// that would not write.
func SplitResource(shown string) (server, uri string, ok bool) {
	server, rest, ok := cutResource(shown)
	if !ok {
		return "", "", false
	}
	if uri, ok = decoded(rest); !ok {
		return "", "", false
	}
	return server, uri, true
}

// ResourceServer is the server of a URI that [ResourceURI] made, or that is an
// expansion of what [TemplateURI] made.
func ResourceServer(shown string) (server string, ok bool) {
	server, _, ok = cutResource(shown)
	return server, ok
}

// cutResource takes the URI of a resource among those of all servers apart,
// and leaves what is behind the server's name as it is.
func cutResource(shown string) (server, rest string, ok bool) {
	rest, ok = strings.CutPrefix(shown, resourcePrefix)
	if !ok {
		return "", "", false
	}
	server, rest, ok = strings.Cut(rest, "/")
	return server, rest, ok && server != "" && strings.IndexFunc(server, func(r rune) bool { return r >= utf8.RuneSelf || !unreserved(byte(r)) }) < 0
}

// unreserved reports whether c stands for itself (RFC 3986 section 2.3).
func unreserved(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return c == '-' || c == '.' || c == '_' || c == '~'
}

// appendEncoded appends s with everything but the unreserved bytes encoded.
func appendEncoded(dst []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		if unreserved(s[i]) {
			dst = append(dst, s[i])
			continue
		}
		dst = append(dst, '%', hex[s[i]>>4], hex[s[i]&15])
	}
	return dst
}

// decoded is the inverse of [appendEncoded]; false of what that never writes
// of valid UTF-8.
func decoded(s string) (string, bool) {
	content := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			high, low := upperHex(s[i+1]), upperHex(s[i+2])
			if c = high<<4 | low; high > 15 || low > 15 || unreserved(c) {
				return "", false
			}
			i += 2
		} else if !unreserved(c) {
			return "", false
		}
		content = append(content, c)
	}
	return string(content), utf8.Valid(content)
}

// upperHex is the value of a hex digit in upper case, 255 of anything else.
func upperHex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}
