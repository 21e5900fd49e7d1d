package relay

import (
	"encoding/json"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// request is what the agent asks of a server, whatever the server is. What it
// can be asked for in turn, and what it answers to that, is nothing where the
// server's entry does not let it ask.
func (r *Relay) request(p plan) wire.Asked {
	asked := wire.Asked{
		Operation: p.call.Operation,
		Tool:      p.tool,
		Resource:  p.call.Resource,
		Prompt:    p.call.Prompt,
		Arguments: p.call.Arguments,
		Argument:  p.call.Argument,
		Context:   p.call.Context,
	}
	if r.mayAsk(p) {
		asked.Capabilities, asked.InputResponses, asked.RequestState = askable(p.call.Capabilities), p.call.InputResponses, p.state
	}
	return asked
}

// askable are the client capabilities that the relay can pass on: those that
// input_required may ask for (MCP 2026-07-28, basic/patterns/mrtr). Others would
// let the server do what the relay refuses: tasks, for one.
func askable(capabilities json.RawMessage) json.RawMessage {
	object := []byte{'{'}
	for _, name := range [...]string{"elicitation", "sampling", "roots"} {
		value, ok := wire.Member(capabilities, name)
		if !ok || string(value) == "null" {
			continue
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(wire.AppendString(object, name), ':')
		object = append(object, value...)
	}
	return append(object, '}')
}

// askedProperly refuses a question that no agent of 2026-07-28 has to take
// (basic/patterns/mrtr): one of an older server, which could not be answered, one
// that asks nothing, or for what the agent did not say that it can be asked for.
func askedProperly(p plan, a Answer) *call.Refusal {
	if a.Facts.Era != session.Modern {
		return call.Refuse(call.Protocol, "a server of before 2026-07-28 asks for input")
	}
	raw, ok := wire.Member(a.Result, "inputRequests")
	if _, state := wire.Member(a.Result, memberState); !ok && state {
		return nil
	}
	var requests map[string]struct {
		Method string `json:"method"`
	}
	if json.Unmarshal(raw, &requests) != nil || len(requests) == 0 {
		return call.Refuse(call.Protocol, "inputRequests is no object of requests")
	}
	for _, request := range requests {
		capability, known := inputs(request.Method)
		if !known {
			return call.Refuse(call.Protocol, "inputRequests asks for %.64q", request.Method)
		}
		if value, declared := wire.Member(p.call.Capabilities, capability); !declared || string(value) == "null" {
			return call.Refuse(call.InputRequired, "the agent did not declare %s", capability)
		}
	}
	return nil
}

// inputs is the capability that an input request needs.
func inputs(method string) (capability string, known bool) {
	switch method {
	case "elicitation/create":
		return "elicitation", true
	case "sampling/createMessage":
		return "sampling", true
	case "roots/list":
		return "roots", true
	}
	return "", false
}

// Errors of a server that ask the agent for what it does not have, or that speak
// of the relay's own request.
const codeURLElicitation = -32042 // 2025-11-25

// misdirected refuses an error of a server that no agent could make sense of: it
// asks for a capability that the relay did not pass on, or for a page to be
// opened in a way that the agent's era does not have. Nothing ran.
func (r *Relay) misdirected(p plan, a Answer) *call.Refusal {
	asks := a.Code == call.CodeMissingCapability && a.Facts.Era == session.Modern || a.Code == codeURLElicitation && p.call.Modern
	if !asks || a.Code == call.CodeMissingCapability && r.mayAsk(p) {
		return nil
	}
	refusal := call.Refuse(call.InputRequired, "error %d", a.Code)
	refusal.Impact = call.ImpactNone
	return refusal
}
