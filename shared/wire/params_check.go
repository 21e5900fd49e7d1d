package wire

import (
	"encoding/json"
	"net/http"
	"strings"

	"mcprelay/shared/call"
)

// paramPrefix begins the name of each header that repeats an argument.
const paramPrefix = "Mcp-Param-"

// CheckParams compares the Mcp-Param headers of a modern tools/call with the
// arguments that the tool's description wants them to repeat (2026-07-28,
// basic/transports/streamable-http, x-mcp-header). The refusal is
// HeaderMismatch: of a header that is missing, malformed, there twice or says
// something else than the argument, of one that is there though the argument
// is absent or null, and of an argument that no header can say. Integers are
// compared as numbers. Other headers of the kind may be meant for somebody
// further on, and are not looked at. The details quote neither header nor
// argument; arguments must have been read by this package.
func CheckParams(h http.Header, params []Param, arguments json.RawMessage) *call.Refusal {
	for _, p := range params {
		if fault := p.check(h.Values(paramPrefix+p.Header), arguments); fault != "" {
			return mismatch(fault)
		}
	}
	return nil
}

// check says what is wrong with the headers of one parameter, or nothing.
func (p Param) check(headers []string, arguments json.RawMessage) string {
	want, ok, err := p.Value(arguments)
	switch {
	case err != nil:
		return err.Error()
	case len(headers) > 1:
		return "an Mcp-Param header is there more than once"
	case !ok && len(headers) > 0:
		return "an Mcp-Param header repeats an argument that is absent or null"
	case ok && len(headers) == 0:
		return "an Mcp-Param header is missing"
	case !ok:
		return ""
	}
	return p.compare(headers[0], want)
}

// compare compares a header with the value that it should have.
func (p Param) compare(header, want string) string {
	got, err := DecodeName(strings.Trim(header, " \t"))
	if err == nil && p.Type == "integer" {
		got, err = number(got)
	}
	if err != nil {
		return "an Mcp-Param header is malformed"
	}
	// What the relay encoded itself can be decoded.
	if want, _ = DecodeName(want); got != want {
		return "an Mcp-Param header differs from its argument"
	}
	return ""
}

// number is [integer] of a text that may be no JSON number at all.
func number(s string) (string, error) {
	scan := newScanner([]byte(s))
	defer scan.release()
	if kind := scan.kind(); kind != '0' || scan.at > 0 {
		return "", errParamType
	}
	raw, err := scan.value()
	if err == nil {
		err = scan.end()
	}
	if err != nil || len(raw) != len(s) {
		return "", errParamType
	}
	return integer(raw)
}
