package wire

import (
	"encoding/json"
	"errors"
)

// ErrProtocol is wrapped by every error of [ReadReply].
var ErrProtocol = errors.New("protocol error")

// Reply is one message of an upstream.
type Reply struct {
	ID         ID
	Result     json.RawMessage
	Error      *RPCError
	Method     string // set for notifications and server requests
	Params     json.RawMessage
	ResultType string
	IsError    bool
}

// RPCError is a JSON-RPC error object.
type RPCError struct {
	Code    int64
	Message string
	Data    json.RawMessage
	Raw     json.RawMessage // the object as it came
}

// ReadReply reads one message of an upstream.
func ReadReply(data []byte) (Reply, error) { return Reply{}, ErrProtocol }
