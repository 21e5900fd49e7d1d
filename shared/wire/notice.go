package wire

import (
	"bytes"
	"encoding/json"
)

// The notifications that a server sends while it works on a request.
const (
	NoticeProgress = "notifications/progress"
	NoticeLog      = "notifications/message"
)

// Concerns reports whether r is a notification about the request whose _meta is
// meta: its progress, or a log message. Progress has the progressToken of the
// request, in whatever spelling (some servers send a number back as a string),
// and is of another request otherwise (MCP 2026-07-28, basic/patterns/progress).
// Log messages name no request: those that come while it is answered are its own.
//
// The params are those of r, with the token as meta spells it: agents look for
// the very one that they gave. All other bytes are the server's.
func (r *Reply) Concerns(meta json.RawMessage) (params json.RawMessage, ok bool) {
	switch r.Method {
	case NoticeProgress:
		given, ok := Member(r.Params, "progressToken")
		token, asked := Member(meta, "progressToken")
		if !ok || !asked || string(token) == "null" || !(ID{string(given)}).Spells(ID{string(token)}) {
			return nil, false
		}
		if bytes.Equal(given, token) {
			return r.Params, true
		}
		params, err := SetMember(r.Params, "progressToken", token)
		return params, err == nil
	case NoticeLog:
		return r.Params, len(r.Params) > 0 && r.Params[0] == '{'
	}
	return nil, false
}
