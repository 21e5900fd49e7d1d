package wire

import (
	"encoding/json"

	"mcprelay/shared/call"
)

// Request is one JSON-RPC request or notification.
type Request struct {
	ID              ID
	Method          string
	Params          json.RawMessage // the object, or nil
	Name            string          // params.name
	URI             string          // params.uri
	Cursor          string          // params.cursor
	Arguments       json.RawMessage // params.arguments, or nil
	Meta            json.RawMessage // params._meta, or nil
	ProtocolVersion string          // of _meta
	HasCapabilities bool            // _meta has clientCapabilities
	ProgressToken   json.RawMessage // of _meta: a string or a number, or nil
}

// Notification reports whether no reply is expected.
func (r Request) Notification() bool { return r.ID.IsZero() }

// Modern reports whether the request itself says that it is of the stateless era.
func (r Request) Modern() bool { return IsModern(r.ProtocolVersion) }

// ReadRequest reads the body of a POST.
func ReadRequest(body []byte) (Request, *call.Refusal) {
	return Request{}, call.Refuse(call.BadJSON, "not built")
}

// ReadObject checks any JSON object.
func ReadObject(b []byte) *call.Refusal { return call.Refuse(call.BadJSON, "not built") }

// ReadArguments reads {"arguments":{}} of the plain face.
func ReadArguments(body []byte) (json.RawMessage, *call.Refusal) {
	return nil, call.Refuse(call.BadJSON, "not built")
}
