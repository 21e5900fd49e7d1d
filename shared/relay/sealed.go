package relay

import (
	"encoding/json"
	"strings"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
	"mcprelay/shared/registry"
	"mcprelay/shared/seal"
	"mcprelay/shared/wire"
)

// StateLifetime is how long an agent has to answer what a server asks: time for
// a person to read a form and fill it in, and too short to keep a state for
// another day.
const StateLifetime = 10 * time.Minute

// mayAsk reports whether what the server asks goes to the agent: the server's
// entry says so, the agent can be asked, and there is a key to seal the state
// with. Where it is false the server is told that nobody can be asked, and what
// it asks all the same is refused.
func (r *Relay) mayAsk(p plan) bool {
	return r.Sealer != nil && p.call.Modern && p.call.Operation.Asks() && p.call.Operation != call.OperationComplete && p.server.Elicitation == registry.ElicitationPass
}

// unseal opens the state that the agent gave back: the server's own, a JSON
// string, and the call that was asked, or nothing where there is none. A repeat
// gives no state to anybody, so its state may be of yesterday. It must be called
// before the intent, so that a state of somebody else's, of another request or of
// yesterday reaches nobody.
func (r *Relay) unseal(p plan) (state json.RawMessage, after string, _ *call.Refusal) {
	switch {
	case p.repeats != "":
		return nil, "", nil
	case p.call.RequestState == "" && p.call.InputResponses == nil:
		return nil, "", nil
	case p.call.RequestState == "" && r.mayAsk(p):
		return nil, "", nil // what the server asked had no state
	case !r.mayAsk(p): // without the answers the server would do what was perhaps declined
		return nil, "", call.Refuse(call.StateRefused, "server %s may ask nothing of this agent", p.server.Name)
	}
	text, err := r.Sealer.Open(binding(p.call), p.call.RequestState, r.Now())
	if err != nil {
		return nil, "", &call.Refusal{Reason: call.StateRefused, Detail: err.Error(), Err: err}
	}
	after, own, ok := strings.Cut(text, " ")
	if !ok || after == "" {
		return nil, "", call.Refuse(call.StateRefused, "it does not say which call it is from")
	}
	return json.RawMessage(own), after, nil
}

// question makes a result that asks the agent for something one that it can be
// given: the server's state in it is sealed to this caller and this request. It
// must be called before secrets are masked, or the server would get a state back
// that is not its own.
func (r *Relay) question(p plan, a Answer) (Answer, *call.Refusal) {
	if !r.mayAsk(p) {
		return Answer{Facts: a.Facts}, call.Refuse(call.InputRequired, "resultType %s", resultInputRequired)
	}
	if refusal := askedProperly(p, a); refusal != nil {
		return Answer{Facts: a.Facts}, refusal
	}
	a.ResultType = resultInputRequired
	state, ok := wire.Member(a.Result, memberState)
	if !ok {
		return a, nil
	}
	if len(state) == 0 || state[0] != '"' {
		return Answer{Facts: a.Facts}, call.Refuse(call.Protocol, "requestState is not a string")
	}
	closed, err := r.Sealer.Seal(binding(p.call), p.call.ID+" "+string(state), r.Now().Add(StateLifetime))
	if err != nil {
		return Answer{Facts: a.Facts}, call.Refuse(call.ReplyTooLarge, "requestState of %d bytes: %s", len(state), err)
	}
	a.State = closed
	a.Result, err = wire.SetMember(a.Result, memberState, wire.AppendString(nil, closed))
	if err != nil {
		return Answer{Facts: a.Facts}, asRefusal(err)
	}
	return a, nil
}

const memberState = "requestState"

// binding is what a state belongs to.
func binding(c call.Call) seal.Binding {
	return seal.Binding{
		Tenant: c.Principal.Tenant, Kind: c.Principal.Domain(), Subject: c.Principal.Subject,
		Server: c.Server, Method: string(c.Operation), Digest: digest(asked(c)),
	}
}

// asked is what the agent asks of which server: the members of its request that
// say so, whatever it adds about how.
func asked(c call.Call) []wire.Set {
	return []wire.Set{
		member("method", string(c.Operation)), member("server", c.Server),
		member("tool", c.Tool), member("resource", c.Resource), member("prompt", c.Prompt),
		{Name: "arguments", Value: c.Arguments}, {Name: "argument", Value: c.Argument}, {Name: "context", Value: c.Context},
	}
}

func member(name, text string) wire.Set {
	return wire.Set{Name: name, Value: wire.AppendString(nil, text)}
}

// digest is the same for requests that differ in nothing but blanks and the
// order of members, which an agent may write anew when it repeats one. Members
// without a value are left out.
func digest(members []wire.Set) string {
	object := []byte{'{'}
	for _, m := range members {
		if len(m.Value) == 0 {
			continue
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(wire.AppendString(object, m.Name), ':')
		object = append(object, m.Value...)
	}
	return catalog.Digest(append(object, '}'))
}
