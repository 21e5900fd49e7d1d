package front

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// challenge is how the WWW-Authenticate value of a refused credential begins
// (RFC 6750 section 3).
const challenge = `Bearer realm="mcprelay"`

func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	writeBytes(w, status, "application/json", body)
}

func writeBytes(w http.ResponseWriter, status int, contentType string, body []byte) {
	writeParts(w, status, contentType, nil, [][]byte{body}, nil)
}

// writeParts writes a body that stands in parts.
func writeParts(w http.ResponseWriter, status int, contentType string, head []byte, parts [][]byte, tail []byte) {
	length := len(head) + len(tail)
	for _, part := range parts {
		length += len(part)
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(ReplyBudget))
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(length))
	w.WriteHeader(status)
	// A failed write means that the reader has gone; the record is written already.
	_, _ = w.Write(head)
	for _, part := range parts {
		_, _ = w.Write(part)
	}
	_, _ = w.Write(tail)
}

// sentence is the text an agent sees: constant for its reason, but for the
// call id.
func sentence(c call.Call, row call.Row) string {
	return string(row.Stage) + ": " + row.Sentence + " (call " + c.ID + ")"
}

// orPost is the one method of a path; that of most is POST.
func orPost(method string) string {
	if method == "" {
		return http.MethodPost
	}
	return method
}

func refusalHeaders(w http.ResponseWriter, refusal *call.Refusal) {
	switch refusal.Reason {
	case call.Unauthenticated, call.InsufficientScope:
		w.Header().Set("WWW-Authenticate", cmp.Or(refusal.Challenge, challenge))
	case call.MethodNotAllowed:
		w.Header().Set("Allow", orPost(refusal.Allow))
	}
	if refusal.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(refusal.RetryAfter))
	}
}

// errorData is the data member of a refusal's JSON-RPC error.
func errorData(c call.Call, refusal *call.Refusal) json.RawMessage {
	row := refusal.Shown()
	data := map[string]any{
		"call_id": c.ID,
		"stage":   row.Stage,
		"reason":  row.Reason,
		"effect":  refusal.MayHaveRun(),
	}
	if refusal.RetryAfter > 0 {
		data["retry_after"] = refusal.RetryAfter
	}
	for name, value := range refusal.Data {
		data[name] = value
	}
	if refusal.Explain && refusal.Detail != "" && row.Outcome == call.RefusedByPolicy {
		data["explanation"] = refusal.Detail
	}
	encoded, err := json.Marshal(data)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return encoded
}

// writeRPCRefusal answers on the MCP face: parse, authentication and scope
// errors with their HTTP status, everything later with 200.
func writeRPCRefusal(w http.ResponseWriter, c call.Call, id wire.ID, status int, refusal *call.Refusal) {
	refusalHeaders(w, refusal)
	writeBytes(w, status, "application/json", rpcRefusal(c, id, refusal))
}

// rpcRefusal is a refusal as a JSON-RPC error.
func rpcRefusal(c call.Call, id wire.ID, refusal *call.Refusal) []byte {
	row := refusal.Shown()
	return wire.AppendError(nil, id, &wire.RPCError{
		Code: int64(row.Code), Message: sentence(c, row), Data: errorData(c, refusal),
	})
}

// writeHead writes a reply without a body.
func writeHead(w http.ResponseWriter, status int) {
	// Of the reply before, an older deadline may be left on the connection.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(ReplyBudget))
	w.WriteHeader(status)
}

func mcpStatus(refusal *call.Refusal) int {
	switch row := refusal.Shown(); row.Stage {
	case call.StageParse, call.StageAuth:
		return row.Status
	}
	return http.StatusOK
}

// writeProblem answers on the plain face (RFC 9457).
func writeProblem(w http.ResponseWriter, c call.Call, refusal *call.Refusal) {
	explanation := ""
	if refusal.Explain && refusal.Shown().Outcome == call.RefusedByPolicy {
		explanation = refusal.Detail
	}
	writeExplained(w, c, refusal, explanation)
}

// writeExplained is writeProblem with what its reader may know beside, if
// anything.
func writeExplained(w http.ResponseWriter, c call.Call, refusal *call.Refusal, explanation string) {
	row := refusal.Shown()
	refusalHeaders(w, refusal)
	problem := map[string]any{
		"type":    "about:blank",
		"title":   row.Sentence,
		"status":  row.Status,
		"detail":  sentence(c, row),
		"call_id": c.ID,
		"stage":   row.Stage,
		"reason":  row.Reason,
		"outcome": row.Outcome,
		"effect":  refusal.MayHaveRun(),
	}
	if explanation != "" {
		problem["explanation"] = explanation
	}
	body, err := json.Marshal(problem)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	writeBytes(w, row.Status, "application/problem+json", body)
}
