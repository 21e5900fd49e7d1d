package agent

import (
	"encoding/json"
	"fmt"
	"net/http"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// call makes one call. What a server asks during it can be answered on the MCP
// face only, so that such a call is made there once more.
func (a agent) call(c toolCall) error {
	reply, err := a.ask(http.MethodPost, "/v1/servers/suite/tools/"+c.Name, `{"arguments":`+string(c.Arguments)+`}`)
	var refused struct {
		Reason call.Reason `json:"reason"`
	}
	if err != nil && json.Unmarshal(reply, &refused) == nil && refused.Reason == call.InputRequired {
		return a.converse(c)
	}
	return err
}

// maxRounds bounds how often a server is answered during one call.
const maxRounds = 4

// asking is a result that may ask for something (MCP 2026-07-28,
// basic/patterns/mrtr).
type asking struct {
	Result struct {
		ResultType    string                     `json:"resultType"`
		InputRequests map[string]json.RawMessage `json:"inputRequests"`
		RequestState  json.RawMessage            `json:"requestState"`
	} `json:"result"`
	Error json.RawMessage `json:"error"`
}

// converse makes a call on the MCP face, and confirms whatever the server asks.
func (a agent) converse(c toolCall) error {
	answers := ""
	for id := range maxRounds {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s%s,"_meta":{%q:%q,%q:{"elicitation":{}}}}}`,
			id, c.Name, c.Arguments, answers, wire.MetaProtocolVersion, wire.Modern, wire.MetaClientCapabilities)
		reply, err := a.ask(http.MethodPost, Path, body, "MCP-Protocol-Version", wire.Modern, "Mcp-Method", "tools/call", "Mcp-Name", c.Name)
		if err != nil {
			return err
		}
		var got asking
		if err := json.Unmarshal(reply, &got); err != nil || got.Error != nil {
			return fmt.Errorf("%s: %s", c.Name, reply)
		}
		if got.Result.ResultType != "input_required" {
			return nil
		}
		if answers, err = confirmed(got); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s asked %d times", c.Name, maxRounds)
}

// confirmed are the members that answer what was asked, each with a comma
// before it. The state is given back where there is one.
func confirmed(a asking) (string, error) {
	responses := map[string]any{}
	for name := range a.Result.InputRequests {
		responses[name] = map[string]any{"action": "accept", "content": map[string]any{"confirmed": true}}
	}
	text, err := json.Marshal(responses)
	if err != nil {
		return "", err
	}
	answers := `,"inputResponses":` + string(text)
	if a.Result.RequestState != nil {
		answers += `,"requestState":` + string(a.Result.RequestState)
	}
	return answers, nil
}
