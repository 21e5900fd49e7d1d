package front

import (
	"encoding/json"
	"net/http"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/relay"
	"mcprelay/shared/turn"
	"mcprelay/shared/wire"
)

// turnRequest is the body of POST /v1/turns. The run is that of X-Relay-Run.
type turnRequest struct {
	Mode     turn.Mode    `json:"mode"`
	Tools    []turn.Offer `json:"tools"` // null or missing for all that the caller is shown
	Single   bool         `json:"single_use"`
	Lifetime int64        `json:"lifetime_ms"`
}

// turnReply is what a runtime is given of a turn that it opened.
type turnReply struct {
	CallID  string       `json:"call_id"`
	Turn    string       `json:"turn"`
	Mode    turn.Mode    `json:"mode"`
	Single  bool         `json:"single_use"`
	Expires time.Time    `json:"expires"`
	Tools   []turn.Offer `json:"tools"`
}

// openTurn is POST /v1/turns: the authority of the present turn of a run.
func (f *Front) openTurn(w http.ResponseWriter, r *http.Request) {
	c := f.newCall(r, call.FacePlain)
	c.Operation = call.OperationTurn
	refusal := f.admit(w, r, &c, call.ScopeCall)
	var asked turnRequest
	if refusal == nil {
		asked, refusal = readTurn(w, r)
	}
	if refusal != nil {
		writeProblem(w, c, f.Relay.Refuse(r.Context(), c, refusal))
		return
	}
	t, refusal := f.Relay.OpenTurn(r.Context(), c, relay.Authority{
		Mode: asked.Mode, Tools: asked.Tools, Single: asked.Single, Lifetime: time.Duration(asked.Lifetime) * time.Millisecond,
	})
	if refusal != nil {
		writeProblem(w, c, refusal)
		return
	}
	tools := t.Offers
	if tools == nil {
		tools = []turn.Offer{}
	}
	writeJSON(w, http.StatusCreated, turnReply{CallID: c.ID, Turn: t.ID, Mode: t.Mode, Single: t.Single, Expires: t.Expires.UTC(), Tools: tools})
}

// maxLifetime bounds lifetime_ms before it becomes a duration, which could not
// hold every number.
const maxLifetime = int64(turn.MaxLifetime / time.Millisecond)

func readTurn(w http.ResponseWriter, r *http.Request) (asked turnRequest, _ *call.Refusal) {
	body, refusal := readBody(w, r)
	if refusal == nil {
		refusal = relay.Strictly(body, &asked, "mode", "tools", "single_use", "lifetime_ms")
	}
	if refusal != nil {
		return turnRequest{}, refusal
	}
	tools, _ := wire.Member(body, "tools")
	var each []json.RawMessage
	_ = json.Unmarshal(tools, &each) // nothing for none; what is no list failed above
	for _, one := range each {
		if refusal := relay.Strictly(one, new(turn.Offer), "server", "tool", "digest"); refusal != nil {
			return turnRequest{}, refusal
		}
	}
	switch {
	case asked.Mode != turn.Ask && asked.Mode != turn.Build:
		return asked, call.Refuse(call.BadParams, "mode is neither ask nor build")
	case asked.Lifetime < 0 || asked.Lifetime > maxLifetime:
		return asked, call.Refuse(call.BadParams, "lifetime_ms is not from 0 to %d", maxLifetime)
	}
	return asked, nil
}

// endTurn is DELETE /v1/turns/{turn}. A turn that has ended already stays so.
func (f *Front) endTurn(w http.ResponseWriter, r *http.Request, id string) {
	c := f.newCall(r, call.FacePlain)
	c.Operation = call.OperationTurn
	refusal := f.check(r, &c, http.MethodDelete, call.ScopeCall)
	if refusal == nil {
		refusal = readContext(r, &c)
	}
	if refusal != nil {
		writeProblem(w, c, f.Relay.Refuse(r.Context(), c, refusal))
		return
	}
	if refusal := f.Relay.EndTurn(r.Context(), c, bounded(id)); refusal != nil {
		writeProblem(w, c, refusal)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"call_id": c.ID, "turn": id, "ended": true})
}
