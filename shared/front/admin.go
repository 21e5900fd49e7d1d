package front

import (
	"net/http"

	"mcprelay/shared/call"
	"mcprelay/shared/relay"
)

// simulation is what an operator is told that a call would come to.
type simulation struct {
	CallID string `json:"call_id"`
	relay.Simulation
}

// simulate is POST /v1/admin/simulate: a question in, what the call would come
// to out. It is for operators, so that it says what a refusal keeps from agents.
func (f *Front) simulate(w http.ResponseWriter, r *http.Request) {
	c := f.newCall(r, call.FacePlain)
	c.Operation = call.OperationSimulate
	refusal := f.admit(w, r, &c, call.ScopeAdminRead)
	var asked relay.Question
	if refusal == nil {
		asked, refusal = readQuestion(w, r)
	}
	if refusal != nil {
		refusal = f.Relay.Refuse(r.Context(), c, refusal)
		explanation := ""
		if c.Principal.May(call.ScopeAdminRead) {
			explanation = refusal.Detail
		}
		writeExplained(w, c, refusal, explanation)
		return
	}
	asked.CallID, asked.By = c.ID, c.Principal
	s, refusal := f.Relay.Simulate(r.Context(), asked)
	if refusal != nil {
		writeExplained(w, c, refusal, refusal.Detail)
		return
	}
	writeJSON(w, http.StatusOK, simulation{c.ID, s})
}

func readQuestion(w http.ResponseWriter, r *http.Request) (relay.Question, *call.Refusal) {
	body, refusal := readBody(w, r)
	if refusal != nil {
		return relay.Question{}, refusal
	}
	return relay.ReadQuestion(body)
}
