package wire

import (
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

const envelope = `{"jsonrpc":"2.0"`

// AppendRequest appends a request to dst, or a notification where id is zero.
// params is written as it is, and left out where it is nil.
func AppendRequest(dst []byte, id ID, method string, params json.RawMessage) []byte {
	dst = append(dst, envelope...)
	if !id.IsZero() {
		dst = append(dst, `,"id":`...)
		dst = append(dst, id.raw...)
	}
	dst = append(dst, `,"method":`...)
	dst = AppendString(dst, method)
	if params != nil {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// ResultTail is what follows the result in a response.
const ResultTail = `}`

// AppendResultHead appends what stands before the result in a response, so
// that a large one can be written between head and [ResultTail] without being
// copied.
func AppendResultHead(dst []byte, id ID) []byte {
	return append(appendResponse(dst, id), `,"result":`...)
}

// AppendResult appends a response with a result, which is written as it is;
// nil is an empty object.
func AppendResult(dst []byte, id ID, result json.RawMessage) []byte {
	dst = AppendResultHead(dst, id)
	if result == nil {
		return append(dst, `{}}`...)
	}
	dst = append(dst, result...)
	return append(dst, '}')
}

// AppendError appends a response with an error: its Raw where that is set,
// else its code, message and data. A zero id is null (JSON-RPC 2.0 section 5).
func AppendError(dst []byte, id ID, e *RPCError) []byte {
	dst = appendResponse(dst, id)
	dst = append(dst, `,"error":`...)
	if e.Raw != nil {
		dst = append(dst, e.Raw...)
		return append(dst, '}')
	}
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, e.Code, 10)
	dst = append(dst, `,"message":`...)
	dst = AppendString(dst, e.Message)
	if e.Data != nil {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	}
	return append(dst, `}}`...)
}

// appendResponse appends what results and errors begin with.
func appendResponse(dst []byte, id ID) []byte {
	dst = append(dst, envelope...)
	dst = append(dst, `,"id":`...)
	if id.IsZero() {
		return append(dst, `null`...)
	}
	return append(dst, id.raw...)
}

// AppendString appends s as a JSON string with no more escapes than JSON needs,
// replacing invalid UTF-8.
func AppendString(dst []byte, s string) []byte {
	// The error is of invalid UTF-8, which is replaced all the same.
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
