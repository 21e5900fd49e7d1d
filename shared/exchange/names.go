package exchange

import (
	"bufio"
	"bytes"
	"slices"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
)

// knows notes a session id as the latest. There is room for the one that was
// sent last and the one that came with the reply: a server may give another one
// each time.
func (f *Facts) knows(id string) {
	if id == "" || id == f.SessionIDs[1] {
		return
	}
	f.SessionIDs[0], f.SessionIDs[1] = f.SessionIDs[1], id
}

// unnamed takes the session ids of the call out of what a refusal quotes:
// whoever has one could use the session. Its detail holds no words of a server.
func (f *Facts) unnamed(refusal *call.Refusal) {
	if refusal == nil || len(refusal.Quote) == 0 {
		return
	}
	ids := f.SessionIDs
	slices.SortFunc(ids[:], func(a, b string) int { return len(b) - len(a) }) // one may begin another
	for _, id := range ids {
		if id != "" {
			refusal.Quote = bytes.ReplaceAll(refusal.Quote, []byte(id), []byte("[session]"))
		}
	}
}

// knowsHead notes the session ids in a head that could not be read: the session
// may exist at the server all the same.
func (f *Facts) knowsHead(r *bufio.Reader) {
	head, _ := r.Peek(min(r.Buffered(), maxHead))
	for line := range bytes.Lines(head) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		id := string(bytes.TrimSpace(value))
		if is(bytes.TrimSpace(name), "Mcp-Session-Id") && session.CheckID(id) == nil {
			f.knows(id)
		}
	}
}
