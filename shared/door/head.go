package door

import (
	"bytes"

	"golang.org/x/net/http/httpguts"
)

// plain reports whether b begins with a whole head that is one of a request for
// the short way. Whatever could be read in two ways, or asks for more than a
// reply, is not for it.
func plain(b []byte) bool {
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		return false
	}
	line, rest, _ := bytes.Cut(b[:end+len("\r\n")], []byte("\r\n"))
	if !requestLine(line) {
		return false
	}
	var hosts, lengths int
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || !token(name) || !text(value) {
			return false
		}
		value = bytes.Trim(value, " \t")
		switch {
		case is(name, "Host"):
			hosts++
		case is(name, "Content-Length"):
			if lengths++; !digits(value) {
				return false
			}
		case is(name, "Connection"):
			if !is(value, "keep-alive") {
				return false
			}
		case is(name, "Transfer-Encoding"), is(name, "Expect"), is(name, "Upgrade"), is(name, "Trailer"):
			return false
		}
	}
	return hosts == 1 && lengths <= 1
}

// requestLine reports whether a line is a method of the relay's, a path of
// printable bytes and HTTP/1.1.
func requestLine(line []byte) bool {
	method, rest, _ := bytes.Cut(line, []byte(" "))
	switch string(method) {
	case "POST", "GET", "DELETE":
	default:
		return false
	}
	path, version, _ := bytes.Cut(rest, []byte(" "))
	if len(path) == 0 || path[0] != '/' || string(version) != "HTTP/1.1" {
		return false
	}
	for _, b := range path {
		if b <= ' ' || b >= 0x7F {
			return false
		}
	}
	return true
}

func is(b []byte, name string) bool {
	return len(b) == len(name) && bytes.EqualFold(b, []byte(name))
}

// token reports whether a name is one; a folded line begins with a blank, which
// no name has.
func token(name []byte) bool {
	for _, b := range name {
		if !httpguts.IsTokenRune(rune(b)) {
			return false
		}
	}
	return len(name) > 0
}

// text reports whether a value holds no control byte but the tab: a bare CR or
// LF is in none.
func text(value []byte) bool {
	for _, b := range value {
		if b < ' ' && b != '\t' || b == 0x7F {
			return false
		}
	}
	return true
}

// maxDigits is what a length of less than 10 GB has.
const maxDigits = 10

func digits(value []byte) bool {
	for _, b := range value {
		if b < '0' || b > '9' {
			return false
		}
	}
	return len(value) > 0 && len(value) <= maxDigits
}
