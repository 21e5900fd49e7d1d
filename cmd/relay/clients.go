package main

import (
	"fmt"
	"runtime"
	"strings"
)

// client is how one kind of client is told of the relay.
type client struct {
	file    string // where its configuration is kept
	bridged bool   // it starts a child process instead of speaking HTTP
	write   func(entry) (string, error)
	token   func(entry) string // how it gets the token, for a person
}

// clientNames lists the clients that are known here.
func clientNames() []string {
	return []string{"claude-code", "codex", "cursor", "vscode", "zed", "stdio"}
}

// clients finds one. The formats are those of the clients' own references in
// November 2026.
func clients(name string) (client, bool) {
	switch name {
	case "claude-code":
		return client{file: ".mcp.json of a project", write: claudeCode, token: byToken}, true
	case "codex":
		return client{file: "~/.codex/config.toml", write: codex, token: byToken}, true
	case "cursor":
		return client{file: "~/.cursor/mcp.json, or .cursor/mcp.json of a project", write: cursor, token: byToken}, true
	case "vscode":
		return client{file: ".vscode/mcp.json of a folder, or the user's mcp.json", write: vscode, token: byInput}, true
	case "zed":
		return client{file: "Zed's settings.json", bridged: true, write: zed, token: byHeader}, true
	case "stdio":
		return client{file: "the configuration of the client (often called mcp.json)", bridged: true, write: stdio, token: byHeader}, true
	}
	return client{}, false
}

func byToken(entry) string {
	return "the client reads the token from the environment variable " + tokenVariable
}

func byInput(entry) string {
	return "the client asks for the token at the first start and keeps it"
}

func byHeader(e entry) string {
	if e.headerFile != "" {
		return "the bridge reads the line \"Authorization: Bearer <token>\" from " + e.headerFile + ", which nobody else should be able to read"
	}
	return "the bridge reads the environment variable " + headerVariable + ", \"Bearer <token>\"; " +
		"where the client does not hand its environment on, use --header-file"
}

// remote is a server behind a URL, as the clients' JSON files have it.
type remote struct {
	Type    string            `json:"type,omitempty"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// child is a server that a client starts.
type child struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// bearing is a server that gets the token that value stands for.
func bearing(kind string, e entry, value string) remote {
	return remote{Type: kind, URL: e.url, Headers: map[string]string{"Authorization": "Bearer " + value}}
}

// claudeCode expands ${NAME} in headers.
func claudeCode(e entry) (string, error) {
	return indented(object{"mcpServers": object{e.name: bearing("http", e, "${"+tokenVariable+"}")}})
}

// codex names the variable. Go's quoting of a string without control
// characters is a basic string of TOML too (TOML 1.0, String).
func codex(e entry) (string, error) {
	return fmt.Sprintf("[mcp_servers.%s]\nurl = %+q\nbearer_token_env_var = %+q\n", e.name, e.url, tokenVariable), nil
}

// cursor spells a variable its own way.
func cursor(e entry) (string, error) {
	return indented(object{"mcpServers": object{e.name: bearing("", e, "${env:"+tokenVariable+"}")}})
}

// vscode gets an input: that is what its reference promises for headers, and
// variables of the environment are not expanded there on every system.
func vscode(e entry) (string, error) {
	return indented(object{
		"inputs":  []object{{"type": "promptString", "id": tokenInput, "description": "Token for the relay", "password": true}},
		"servers": object{e.name: bearing("http", e, "${input:"+tokenInput+"}")},
	})
}

// zed expands no variable in the headers of a remote server, so it starts the
// bridge, which inherits its environment.
func zed(e entry) (string, error) {
	return indented(object{"context_servers": object{e.name: bridged(e)}})
}

// stdio is for clients that can only start a child process.
func stdio(e entry) (string, error) {
	return indented(object{"mcpServers": object{e.name: bridged(e)}})
}

// bridged starts the bridge. It speaks Streamable HTTP only: the relay has no
// HTTP+SSE to fall back to. Of the names of this machine it knows two, and asks
// for a word about plain http to the others.
func bridged(e entry) child {
	args := []string{"-y", bridge, e.url, "--transport", "http-only"}
	if strings.HasPrefix(e.url, "http:") {
		args = append(args, "--allow-http")
	}
	if e.headerFile != "" {
		args = append(args, "--header-file", e.headerFile)
	} else {
		args = append(args, "--header", "Authorization:${"+headerVariable+"}")
	}
	command := "npx"
	if runtime.GOOS == "windows" { // npx is a batch file there
		command, args = "cmd", append([]string{"/c", "npx"}, args...)
	}
	return child{Command: command, Args: args}
}
