package relay

import (
	"bytes"
	"encoding/json"

	"mcprelay/shared/call"
)

// outcome is the head of what is kept of a call: one line of JSON. The bytes
// that the server answered with follow it as they are, since JSON within JSON
// would be written anew.
type outcome struct {
	Failed     bool        `json:"failed,omitempty"` // the bytes are a JSON-RPC error
	Code       int64       `json:"code,omitempty"`   // its code
	ToolFailed bool        `json:"tool_failed,omitempty"`
	ResultType string      `json:"result_type,omitempty"`
	State      string      `json:"state,omitempty"`
	Refused    *refusedFor `json:"refused,omitempty"` // there are no bytes
}

// refusedFor is a refusal as an agent and the trail saw it.
type refusedFor struct {
	Reason     call.Reason                `json:"reason"`
	Detail     string                     `json:"detail,omitempty"`
	Impact     call.Impact                `json:"impact,omitempty"`
	Data       map[string]json.RawMessage `json:"data,omitempty"`
	RetryAfter int                        `json:"retry_after,omitempty"`
	Status     int                        `json:"status,omitempty"`
}

// remember writes down what a call came to; nil where that cannot be done. Its
// answer was masked before.
func remember(a Answer, refusal *call.Refusal) []byte {
	o := outcome{Failed: a.Error != nil, Code: a.Code, ToolFailed: a.isError, ResultType: a.ResultType, State: a.State}
	body := a.Result
	if o.Failed {
		body = a.Error
	}
	if refusal != nil {
		o, body = outcome{Refused: &refusedFor{
			Reason: refusal.Reason, Detail: refusal.Detail, Impact: refusal.Impact,
			Data: refusal.Data, RetryAfter: refusal.RetryAfter, Status: refusal.Status,
		}}, nil
	}
	head, err := json.Marshal(o)
	if err != nil {
		return nil
	}
	return append(append(head, '\n'), body...)
}

// recall reads what remember wrote. What was too large to be kept, or cannot be read,
// is an outcome that is not known.
func recall(reply []byte) (Answer, *call.Refusal) {
	if len(reply) == 0 {
		return Answer{}, call.Refuse(call.OutcomeUnknown, "the outcome was too large to be kept")
	}
	head, body, _ := bytes.Cut(reply, []byte{'\n'})
	var o outcome
	if err := json.Unmarshal(head, &o); err != nil || o.Refused == nil && len(body) == 0 {
		return Answer{}, call.Refuse(call.OutcomeUnknown, "the outcome that was kept cannot be read")
	}
	if was := o.Refused; was != nil {
		return Answer{}, &call.Refusal{
			Reason: was.Reason, Detail: was.Detail, Impact: was.Impact,
			Data: was.Data, RetryAfter: was.RetryAfter, Status: was.Status,
		}
	}
	a := Answer{ResultType: o.ResultType, State: o.State, isError: o.ToolFailed, Code: o.Code}
	if o.Failed {
		a.Error = body
	} else {
		a.Result = body
	}
	return a, nil
}
