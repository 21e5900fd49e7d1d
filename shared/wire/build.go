package wire

import "encoding/json"

// AppendRequest appends a request, or a notification where id is zero.
func AppendRequest(dst []byte, id ID, method string, params json.RawMessage) []byte { return dst }

// AppendResult appends a response with a result.
func AppendResult(dst []byte, id ID, result json.RawMessage) []byte { return dst }

// AppendError appends a response with an error.
func AppendError(dst []byte, id ID, e *RPCError) []byte { return dst }

// SetMember replaces or adds one member of an object.
func SetMember(object json.RawMessage, name string, value json.RawMessage) (json.RawMessage, error) {
	return object, nil
}

// DeleteMember removes one member of an object.
func DeleteMember(object json.RawMessage, name string) (json.RawMessage, error) { return object, nil }

// Member finds one member of an object.
func Member(object json.RawMessage, name string) (json.RawMessage, bool) { return nil, false }
