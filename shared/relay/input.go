package relay

import (
	"encoding/json"

	"mcprelay/shared/wire"
)

// input is what a server is told of the agent that it may ask for something:
// what the agent can be asked for, and what it answers. Nothing, where the
// server's entry does not let it ask.
func (r *Relay) input(p plan) (capabilities, responses json.RawMessage) {
	if !r.mayAsk(p) {
		return nil, nil
	}
	return askable(p.call.Capabilities), p.call.InputResponses
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
