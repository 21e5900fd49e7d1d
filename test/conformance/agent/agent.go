// Package agent is what stands behind the conformance suite's client command:
// a relay in front of the suite's server, and an agent that lists the server's
// tools and calls each through it.
//
// It promises that every request the suite sees was made by the relay. It
// refuses to speak to the suite's server itself.
package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"mcprelay/shared/app"
	"mcprelay/shared/auth"
	"mcprelay/shared/call"
	"mcprelay/shared/config"
	"mcprelay/shared/store/local"
)

const registration = `{"tenant":"suite","servers":[{"name":"suite","config":{"endpoint":%q,"auth":{"type":"none"}},"secrets":{}}],
 "rules":[{"action":"mcp.suite.host.*","decision":"allow"},{"action":"mcp.suite.tool.*","decision":"allow"},
 {"action":"mcp.suite.resource.*","decision":"allow"},{"action":"mcp.suite.prompt.*","decision":"allow"}]}`

const token = "token-of-the-agent"

// Run drives the server at url through a relay of its own.
func Run(url string) (err error) {
	dir, err := os.MkdirTemp("", "mcprelay-shim-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c, err := config.Parse("shim", fmt.Appendf(nil, registration, url), config.Options{Loopback: true})
	if err != nil {
		return err
	}
	store, err := local.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	caller, err := auth.NewCaller(token, call.Principal{Tenant: "suite", Subject: "agent", Kind: call.KindUser, Scopes: []call.Scope{call.ScopeCall}})
	if err != nil {
		return err
	}
	relay, err := app.New(app.Options{
		Registry: app.FileRegistry{Registration: c.Tenant}, Store: store, Callers: []auth.Caller{caller}, Loopback: true, Log: os.Stderr, Now: time.Now,
	})
	if err != nil {
		return err
	}
	return drive(agent{relay.Handler()})
}

// agent speaks to the relay as a runtime does, by its plain face.
type agent struct{ relay http.Handler }

// ask gives the reply's body; a refusal is an error.
func (a agent) ask(method, path, body string) ([]byte, error) {
	r := httptest.NewRequest(method, path, bytes.NewReader([]byte(body)))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Relay-Run", "conformance")
	w := httptest.NewRecorder()
	a.relay.ServeHTTP(w, r)
	reply, err := io.ReadAll(w.Body)
	if err == nil && w.Code != http.StatusOK {
		err = fmt.Errorf("%s %s: %d %s", method, path, w.Code, reply)
	}
	return reply, err
}

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
		_, failed := a.ask(http.MethodPost, "/v1/servers/suite/tools/"+c.Name, `{"arguments":`+string(c.Arguments)+`}`)
		err = errors.Join(err, failed)
	}
	_, failed := a.ask(http.MethodDelete, "/v1/runs/conformance", "")
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
