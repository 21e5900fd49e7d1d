package exchange

import (
	"encoding/json"
	"net/http"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// The methods that the relay sends.
const (
	methodDiscover    = "server/discover"
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodSetLevel    = "logging/setLevel"
	methodCancelled   = "notifications/cancelled"
)

// message is one HTTP request to a server, before it is bytes.
type message struct {
	verb   string // POST, or DELETE to end a session
	method string // of JSON-RPC
	id     wire.ID
	state  session.State // whom it is spoken to
	agents bool          // it carries the agent's request, so it is counted

	ask          wire.Ask        // the agent's request, but for _meta; zero for lists and the relay's own
	params       []wire.Param    // of its arguments, which a modern server wants in headers too
	meta         json.RawMessage // the agent's
	capabilities json.RawMessage // what a modern server may ask the agent for, nil for nothing
	trace        string          // for _meta.traceparent, well formed or empty
	list         call.List       // that it reads, empty for other messages
	cursor       json.RawMessage // of a list: a JSON string, nil for the first page
	level        string          // of logging/setLevel, empty for other messages
	about        wire.ID         // of notifications/cancelled
	reason       string          // of notifications/cancelled
}

// scratch is what one POST is built in. It is reused, so nothing that outlives
// the POST may point into it.
type scratch struct {
	body   []byte // what is written after out
	out    []byte // written first
	header http.Header
}

// maxScratch is the largest buffer that is kept for the next call, in bytes.
// What is kept is given up with the second collection of garbage that finds it
// unused.
const maxScratch = 512 << 10

func (x *Exchange) borrow() *scratch {
	if s, ok := x.scratch.Get().(*scratch); ok {
		return s
	}
	return &scratch{header: make(http.Header, 4)}
}

func (x *Exchange) giveBack(s *scratch) {
	clear(s.header) // of the credential
	clear(s.out)    // likewise
	if cap(s.out) <= maxScratch && cap(s.body) <= maxScratch {
		x.scratch.Put(s)
	}
}

// appendBody appends the JSON-RPC message. What is raw in it, as arguments and
// the agent's _meta are, is appended as the bytes it came as.
func (x *Exchange) appendBody(dst []byte, m *message) ([]byte, *call.Refusal) {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if !m.id.IsZero() {
		dst = append(dst, `"id":`...)
		dst = append(dst, m.id.Raw()...)
		dst = append(dst, ',')
	}
	dst = append(dst, `"method":"`...)
	dst = append(dst, m.method...)
	dst = append(dst, '"')
	start := len(dst)
	dst, err := x.appendParams(dst, m)
	if err != nil {
		return nil, &call.Refusal{Reason: call.BadParams, Detail: err.Error(), Err: err}
	}
	if len(dst) > start { // the first member was written with a comma before it
		dst[start+len(paramsOpen)-1] = '{'
		dst = append(dst, '}')
	}
	return append(dst, '}'), nil
}

// paramsOpen begins the params; its last byte becomes the brace.
const paramsOpen = `,"params":,`

// appendParams appends the params, nothing where the message has none. Every
// member is written with a comma before it.
func (x *Exchange) appendParams(dst []byte, m *message) ([]byte, error) {
	start := len(dst)
	dst = append(dst, paramsOpen[:len(paramsOpen)-1]...)
	open := len(dst)
	switch m.method {
	case methodInitialize:
		dst = append(dst, `,"protocolVersion":"`...)
		dst = append(dst, m.state.Version...)
		dst = append(dst, `","capabilities":{},"clientInfo":`...)
		return append(dst, x.client...), nil
	case methodCancelled:
		dst = append(dst, `,"requestId":`...)
		dst = append(dst, m.about.Raw()...)
		dst = append(dst, `,"reason":`...)
		return wire.AppendString(dst, m.reason), nil
	}
	if m.ask.Operation != "" {
		dst = m.ask.Append(dst, m.state.Era == session.Modern)
	}
	if m.level != "" {
		dst = append(append(append(dst, `,"level":"`...), m.level...), '"')
	}
	if m.cursor != nil {
		dst = append(dst, `,"cursor":`...)
		dst = append(dst, m.cursor...)
	}
	dst, err := appendMeta(dst, m, x.client)
	if len(dst) == open {
		dst = dst[:start]
	}
	return dst, err
}
