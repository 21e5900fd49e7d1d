package front

import (
	"net/http"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// serveRun is DELETE /v1/runs/{run}: the upstream sessions that the caller's
// calls with this X-Relay-Run opened are ended. A run that opened none is
// closed already, so that a caller may ask twice.
func (f *Front) serveRun(w http.ResponseWriter, r *http.Request, run string) {
	c := f.newCall(r, call.FacePlain)
	c.Operation = call.OperationClose
	refusal := f.check(r, &c, http.MethodDelete, call.ScopeCall)
	if refusal == nil && (len(run) > MaxHeaderText || wire.HeaderValue(run) != nil) {
		refusal = call.Refuse(call.BadRequest, "the run's name is too long or malformed")
	}
	if refusal != nil {
		writeProblem(w, c, f.Relay.Refuse(r.Context(), c, refusal))
		return
	}
	c.Run = run
	closed, err := f.Relay.CloseRun(r.Context(), c)
	if err != nil {
		refused := &call.Refusal{Reason: call.SessionsUnavailable, Detail: "the sessions of the run could not be read", Err: err}
		writeProblem(w, c, f.Relay.Refuse(r.Context(), c, refused))
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"run": run, "closed": closed.Closed, "failed": closed.Failed})
}
