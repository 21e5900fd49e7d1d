package hostile

import (
	"encoding/json"
	"net/http"

	"mcprelay/shared/call"
)

// Failure is a JSON-RPC error as an agent reads it.
type Failure struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
	// Reason, Stage and Effect are of the relay's own errors, empty for those
	// of a server.
	Reason     call.Reason `json:"-"`
	Stage      call.Stage  `json:"-"`
	Effect     call.Impact `json:"-"`
	RetryAfter int         `json:"-"`
}

// envelope is a JSON-RPC response.
type envelope struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

func (p Reply) envelope() envelope {
	p.t.Helper()
	var e envelope
	if err := json.Unmarshal([]byte(p.Body), &e); err != nil || e.Version != "2.0" {
		p.t.Fatalf("the reply is no JSON-RPC message: status %d, %.300s", p.Status, p.Body)
	}
	return e
}

// ID is the id as the agent gets it, JSON text.
func (p Reply) ID() string {
	p.t.Helper()
	return string(p.envelope().ID)
}

// Result is the result as it came, and fails the test where there is none.
func (p Reply) Result() string {
	p.t.Helper()
	e := p.envelope()
	if p.Status != http.StatusOK || e.Result == nil || e.Error != nil {
		p.t.Fatalf("want a result, got status %d, %.500s", p.Status, p.Body)
	}
	return string(e.Result)
}

// ErrorText is the error object as it came, and fails the test where there is
// none.
func (p Reply) ErrorText() string {
	p.t.Helper()
	e := p.envelope()
	if e.Result != nil || e.Error == nil {
		p.t.Fatalf("want an error, got status %d, %.500s", p.Status, p.Body)
	}
	return string(e.Error)
}

// Error is the error, and fails the test where there is none.
func (p Reply) Error() Failure {
	p.t.Helper()
	var failure Failure
	if err := json.Unmarshal([]byte(p.ErrorText()), &failure); err != nil {
		p.t.Fatalf("the error is none: %v", err)
	}
	var data struct {
		Reason     call.Reason `json:"reason"`
		Stage      call.Stage  `json:"stage"`
		Effect     call.Impact `json:"effect"`
		RetryAfter int         `json:"retry_after"`
	}
	if json.Unmarshal(failure.Data, &data) == nil { // a server's data may be anything
		failure.Reason, failure.Stage, failure.Effect, failure.RetryAfter = data.Reason, data.Stage, data.Effect, data.RetryAfter
	}
	return failure
}

// Refused fails the test unless the relay refused for a reason: the agent is
// told the constant sentence, the reason and the effect, with 200 on the MCP
// face, and the record says the same.
func (p Reply) Refused(reason call.Reason, effect call.Impact) Failure {
	p.t.Helper()
	failure, row := p.Error(), reason.Row()
	if p.Status != http.StatusOK && row.Stage != call.StageParse && row.Stage != call.StageAuth {
		p.t.Errorf("got status %d, want 200", p.Status)
	}
	if failure.Reason != reason || failure.Effect != effect || failure.Stage != row.Stage || failure.Code != int64(row.Code) {
		p.t.Errorf("the agent got %+v, want reason %s, effect %s", failure, reason, effect)
	}
	if p.Record.Reason != reason || p.Record.Outcome != row.Outcome || p.Record.Effect != effect {
		p.t.Errorf("the record says %s, %s, %s (%s), want %s, %s, %s",
			p.Record.Outcome, p.Record.Reason, p.Record.Effect, p.Record.Detail, row.Outcome, reason, effect)
	}
	return failure
}

// Answered fails the test unless the server's result came through, and the
// record says so. An empty want is any result.
func (p Reply) Answered(want string) string {
	p.t.Helper()
	got := p.Result()
	if want != "" && got != want {
		p.t.Errorf("got result\n%s\nwant\n%s", got, want)
	}
	if p.Record.Outcome != call.Answered || p.Record.Reason != call.OK && p.Record.Reason != call.ToolError {
		p.t.Errorf("the record says %s, %s, want answered", p.Record.Outcome, p.Record.Reason)
	}
	return got
}
