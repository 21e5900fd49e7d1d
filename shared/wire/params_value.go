package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// maxSafeInteger is the largest integer that every reader of JSON keeps, as
// JavaScript does (MCP 2026-07-28, x-mcp-header).
const maxSafeInteger = 1<<53 - 1

// maxPower bounds the exponents that are looked at: no text within [MaxBody]
// has more digits that a larger one could move.
const maxPower = 2 * MaxBody

// What is wrong with an argument. The texts name no argument and quote none.
var (
	errParamType  = errors.New("an argument that a header repeats is not of its declared type")
	errParamRange = errors.New("an argument that a header repeats is an integer beyond 2^53-1")
	errParamLong  = fmt.Errorf("an argument that a header repeats is longer than %d bytes", MaxName)
)

// Value is the header's value for a call with these arguments, plain or inside
// the Base64 sentinel; ok is false where the argument is absent or null, so
// that no header is sent. The error is of an argument that is not of the
// parameter's type, of an integer beyond 2^53-1 either way, or of a text too
// long for a header. It never quotes the argument. Arguments must have been
// read by this package.
//
// An integer is what JSON Schema calls one: 1.0 and 1e2 are integers, and as
// headers they are "1" and "100", since the protocol wants the decimal form
// and has servers compare numbers, not spellings. 1.5 is none.
func (p Param) Value(arguments json.RawMessage) (value string, ok bool, err error) {
	raw := arguments
	for _, name := range p.Path {
		if raw, ok = Member(raw, name); !ok {
			return "", false, nil
		}
	}
	if string(raw) == "null" || len(p.Path) == 0 {
		return "", false, nil
	}
	switch p.Type {
	case "string":
		value, err = text(raw)
	case "integer":
		value, err = integer(raw)
	case "boolean":
		if value = string(raw); value != "true" && value != "false" {
			err = errParamType
		}
	default:
		err = errParamType
	}
	if err != nil {
		return "", false, err
	}
	return EncodeName(value), true, nil
}

// text is the content of a JSON string.
func text(raw []byte) (string, error) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", errParamType
	}
	content, err := jsontext.AppendUnquote(nil, raw)
	switch {
	case err != nil: // a lone surrogate: no header can say what it is
		return "", errParamType
	case len(content) > MaxName:
		return "", errParamLong
	}
	return string(content), nil
}

// integer is the decimal form of a JSON number without a fractional part. It
// goes by the digits, because a float has too few of them, and because an
// exponent costs its sender nothing.
func integer(raw []byte) (string, error) {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return "", errParamType
	}
	mantissa, power, scaled := raw, []byte(nil), false
	if at := bytes.IndexAny(raw, "eE"); at >= 0 {
		mantissa, power, scaled = raw[:at], raw[at+1:], true
	}
	mantissa, negative := bytes.CutPrefix(mantissa, []byte("-"))
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	digits := append(bytes.Clone(whole), fraction...)
	all := len(digits)
	digits = bytes.TrimRight(digits, "0")
	zeros := all - len(digits) - len(fraction) // behind the digits; less than 0: they have a fraction
	if digits = bytes.TrimLeft(digits, "0"); len(digits) == 0 {
		return "0", nil
	}
	if scaled {
		n, err := strconv.Atoi(string(power))
		switch {
		case bytes.HasPrefix(power, []byte("-")) && (err != nil || n < -maxPower):
			return "", errParamType
		case err != nil || n > maxPower:
			return "", errParamRange
		}
		zeros += n
	}
	const longest = 16 // digits of 2^53-1
	switch {
	case zeros < 0:
		return "", errParamType
	case len(digits)+zeros > longest:
		return "", errParamRange
	}
	digits = append(digits, bytes.Repeat([]byte("0"), zeros)...)
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || n > maxSafeInteger {
		return "", errParamRange
	}
	if negative {
		n = -n
	}
	return strconv.FormatInt(n, 10), nil
}
