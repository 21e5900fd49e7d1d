package relay

import (
	"encoding/json"
	"slices"

	"mcprelay/shared/call"
	"mcprelay/shared/registry"
	"mcprelay/shared/wire"
)

// maxRun bounds a run, in bytes: what a header may hold of it.
const maxRun = 128

// ReadQuestion reads a question strictly: one object, whose members are those of
// [Question] in these very letters, each once. The refusal is one of the
// stage parse.
func ReadQuestion(body []byte) (Question, *call.Refusal) {
	var q Question
	refusal := Strictly(body, &q, "subject", "kind", "scopes", "run", "server", "tool", "resource", "prompt", "arguments", "policies", "only")
	if refusal != nil {
		return Question{}, refusal
	}
	policies, _ := wire.Member(body, "policies")
	var each []json.RawMessage
	_ = json.Unmarshal(policies, &each) // nothing for none; what is no list failed above
	for _, one := range each {
		if refusal := Strictly(one, new(Candidate), "name", "source", "mode"); refusal != nil {
			return Question{}, refusal
		}
	}
	return q, q.check()
}

// Strictly reads one JSON object with no other members than these, in these very
// letters and each once.
func Strictly(body []byte, into any, members ...string) *call.Refusal {
	if refusal := wire.ReadObject(body); refusal != nil {
		return refusal
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return call.Refuse(call.BadParams, "it is not an object")
	}
	for name := range object {
		if !slices.Contains(members, name) {
			return call.Refuse(call.BadParams, "there is no member %.64q here", name)
		}
	}
	if err := json.Unmarshal(body, into); err != nil {
		return &call.Refusal{Reason: call.BadParams, Detail: "a member is of another type", Err: err}
	}
	return nil
}

// check refuses a question that no call could be.
func (q Question) check() *call.Refusal {
	bad := func(text string) *call.Refusal { return call.Refuse(call.BadParams, "%s", text) }
	targets := 0
	for _, target := range []string{q.Tool, q.Resource, q.Prompt} {
		if target != "" {
			targets++
		}
	}
	switch {
	case registry.Subject(q.Subject) != nil:
		return bad("subject is missing, too long or malformed")
	case q.Kind != "" && !q.Kind.Valid():
		return bad("kind is not user, service_token, trusted_issuer or other")
	case slices.ContainsFunc(q.Scopes, func(s call.Scope) bool { return !s.Valid() }):
		return bad("a scope is not call, audit:read, admin:read or admin:write")
	case len(q.Run) > maxRun || q.Run != "" && wire.HeaderValue(q.Run) != nil:
		return bad("run is too long or malformed")
	case q.Server == "":
		return bad("server is missing")
	case targets != 1:
		return bad("one of tool, resource and prompt is needed")
	case q.Arguments != nil && q.Resource != "":
		return bad("a resource takes no arguments")
	case q.Arguments != nil && wire.ReadObject(q.Arguments) != nil:
		return bad("arguments is not one valid object")
	}
	return nil
}

// params are those of an agent that says no more than it must.
func (q Question) params() json.RawMessage {
	params := []byte(`{"name":`)
	if q.Resource != "" {
		params = []byte(`{"uri":`)
	}
	params = wire.AppendString(params, q.Tool+q.Resource+q.Prompt) // two are empty
	if q.Arguments != nil {
		params = append(append(params, `,"arguments":`...), q.Arguments...)
	}
	return append(params, '}')
}
