package front

import (
	"encoding/json"
	"net/http"
	"strings"

	"mcprelay/shared/call"
	"mcprelay/shared/relay"
	"mcprelay/shared/wire"
)

// servePlain is POST /v1/servers/{server}/tools/{tool}: {"arguments":{}} in,
// {"call_id","outcome","result"} out. An upstream's JSON-RPC error is an
// answer too and comes as "error" in the place of "result".
func (f *Front) servePlain(w http.ResponseWriter, r *http.Request, server, tool string) {
	c := f.newCall(r, call.FacePlain)
	c.Server, c.Tool = bounded(server), bounded(tool)
	refusal := f.admit(w, r, &c, call.ScopeCall)
	if refusal == nil {
		c.IdempotencyKey, refusal = idempotencyKey(r.Header)
	}
	if refusal == nil {
		refusal = readPlain(w, r, &c)
	}
	if refusal != nil {
		writeProblem(w, c, f.Relay.Refuse(r.Context(), c, refusal))
		return
	}
	answer, refusal := f.Relay.Run(r.Context(), c)
	defer answer.Settle()
	if refusal != nil {
		writeProblem(w, c, refusal)
		return
	}
	head, content := plainReply(answer)
	writeParts(w, http.StatusOK, "application/json", head, [][]byte{content}, []byte("}"))
}

func readPlain(w http.ResponseWriter, r *http.Request, c *call.Call) *call.Refusal {
	body, refusal := readBody(w, r)
	if refusal != nil {
		return refusal
	}
	c.Arguments, refusal = wire.ReadArguments(body)
	return refusal
}

// MaxKey bounds Idempotency-Key, in bytes.
const MaxKey = 255

// idempotencyKey is the key under which a call runs once: visible ASCII, so
// that no two spellings of one key reach the store. Empty for none.
func idempotencyKey(h http.Header) (string, *call.Refusal) {
	values := h["Idempotency-Key"]
	if len(values) == 0 {
		return "", nil
	}
	unseen := func(c rune) bool { return c < '!' || c > '~' }
	if len(values) > 1 || values[0] == "" || len(values[0]) > MaxKey || strings.ContainsFunc(values[0], unseen) {
		return "", call.Refuse(call.BadRequest, "header Idempotency-Key is repeated, empty, too long or not visible ASCII")
	}
	return values[0], nil
}

// plainReply keeps the upstream's bytes as they came.
func plainReply(a relay.Answer) (head []byte, content []byte) {
	name, content := `"result":`, a.Result
	if a.Error != nil {
		name, content = `"error":`, a.Error
	}
	if content == nil {
		content = json.RawMessage("null")
	}
	return []byte(`{"call_id":"` + a.CallID + `","outcome":"` + string(call.Answered) + `",` + name), content
}

// MaxName bounds a server's or tool's name as it comes from an agent, in
// bytes: MCP allows 128 characters; a longer one is cut in the record and
// cannot match.
const MaxName = 512

func bounded(name string) string {
	if len(name) > MaxName {
		return name[:MaxName]
	}
	return name
}
