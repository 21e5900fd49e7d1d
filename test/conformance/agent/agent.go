// Package agent is the relay that the conformance suite tests, over one
// server, and what stands behind the suite's client command: such a relay over
// the suite's server, and an agent that lists the server's tools and calls each
// through it.
//
// It promises that every request the suite sees was made by the relay. It
// refuses to speak to the suite's server itself.
package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
)

// Run drives the server at url through a relay of its own.
func Run(url string) error {
	relay, err := Open(url, os.Stderr)
	if err != nil {
		return err
	}
	return errors.Join(drive(agent{relay.Handler()}), relay.Close())
}

// agent speaks to the relay as a runtime does, by its plain face, and by the
// other where a server asks it for something.
type agent struct{ relay http.Handler }

// ask gives the reply's body; a refusal is an error. Headers come in pairs.
func (a agent) ask(method, path, body string, headers ...string) ([]byte, error) {
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Relay-Run", run)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	a.relay.ServeHTTP(w, r)
	reply := w.Body.Bytes()
	if w.Code != http.StatusOK {
		return reply, fmt.Errorf("%s %s: %d %s", method, path, w.Code, reply)
	}
	return reply, nil
}

// run is the name of the one run.
const run = "conformance"

// toolCall is one that the suite wants made.
type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// drive lists everything, makes the calls that the suite asks for, or one of
// each tool, and closes the run.
func drive(a agent) error {
	var tools struct {
		Tools []struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
	}
	reply, err := a.ask(http.MethodGet, "/v1/servers/suite/tools", "")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(reply, &tools); err != nil {
		return err
	}
	for _, list := range []string{"resources", "prompts"} {
		if _, err := a.ask(http.MethodGet, "/v1/servers/suite/"+list, ""); err != nil {
			fmt.Fprintln(os.Stderr, "shim:", err) // not every server of the suite has them
		}
	}
	var context struct {
		ToolCalls []toolCall `json:"toolCalls"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &context); err != nil {
			return err
		}
	}
	calls := context.ToolCalls
	for _, tool := range tools.Tools {
		arguments := sample(tool.InputSchema)
		if tool.Name == "json_schema_echo" { // it wants the first tool's schema, as it came
			arguments = append(append([]byte(`{"schema":`), tools.Tools[0].InputSchema...), '}')
		}
		if len(context.ToolCalls) == 0 {
			calls = append(calls, toolCall{tool.Name, arguments})
		}
	}
	for _, c := range calls {
		err = errors.Join(err, a.call(c))
	}
	_, failed := a.ask(http.MethodDelete, "/v1/runs/"+run, "")
	return errors.Join(err, failed)
}

// sample makes arguments of a schema's own properties.
func sample(schema json.RawMessage) json.RawMessage {
	var s struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	arguments := map[string]any{}
	if json.Unmarshal(schema, &s) == nil {
		for name, property := range s.Properties {
			switch property.Type {
			case "string":
				arguments[name] = "text"
			case "number", "integer":
				arguments[name] = 7
			case "boolean":
				arguments[name] = true
			}
		}
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return text
}
