package wire

import "encoding/json"

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
func (r *Reply) Concerns(meta json.RawMessage) bool {
	switch r.Method {
	case NoticeProgress:
		given, ok := Member(r.Params, "progressToken")
		token, asked := Member(meta, "progressToken")
		return ok && asked && string(token) != "null" && ID{string(given)}.Spells(ID{string(token)})
	case NoticeLog:
		return len(r.Params) > 0 && r.Params[0] == '{'
	}
	return false
}
