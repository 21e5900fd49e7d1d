package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/config"
	"mcprelay/shared/endpoint"
	"mcprelay/shared/policy"
	"mcprelay/shared/registry"
	"mcprelay/shared/secret"

	"github.com/google/go-cmp/cmp"
)

// local are the options of a relay on a person's own machine.
var local = config.Options{Processes: true}

// holding is a child process whose variables and secrets are given.
func holding(env, secrets object, changes ...any) object {
	return with(child("docs", append([]any{"env", env}, changes...)...), "secrets", secrets)
}

// The envelope of testdata/local.json: child processes, one with everything
// and one with nothing but its command.
func TestProcesses(t *testing.T) {
	c, err := config.Load("testdata/local.json", local)
	if err != nil {
		t.Fatal(err)
	}
	limits := registry.DefaultLimits()
	limits.CloseTimeout = time.Second
	env := map[string]string{"NOTES_TOKEN": "notes-token", "notes_key": "notes-key"}
	want := &registry.Server{
		Name:            "notes",
		Auth:            secret.Auth{Type: secret.TypeEnvironment, Environment: env},
		Secrets:         map[string]secret.Source{"notes-token": {Env: "NOTES_TOKEN", Secret: "NOTES_TOKEN"}, "notes-key": {Env: "NOTES_KEY"}},
		AllowedTools:    []string{"search"},
		Effects:         c.Tenant.Servers["notes"].Effects,
		Limits:          limits,
		UnexpectedTools: "fail", Pin: "block", Elicitation: "refuse",
		Process: &registry.Process{Command: "notes-mcp", Args: []string{"--dir", "/srv/notes", ""}, Env: env},
	}
	if diff := cmp.Diff(want, c.Tenant.Servers["notes"], equalURLs); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	least := &registry.Server{
		Name: "clock", Auth: secret.Auth{Type: secret.TypeNone}, Limits: registry.DefaultLimits(), UnexpectedTools: "fail", Pin: "block", Elicitation: "refuse",
		Process: &registry.Process{Command: "/opt/clock/bin/clock-mcp"},
	}
	if diff := cmp.Diff(least, c.Tenant.Servers["clock"], equalURLs); diff != "" {
		t.Errorf("clock (-want +got):\n%s", diff)
	}
	if !want.AllowsEndpoint() || c.Tenant.Servers["notes"].Endpoint != (endpoint.URL{}) {
		t.Error("a process has an endpoint")
	}
	if m := c.Tenant.Rules.Match("mcp.notes.process"); m.Word != policy.Allow {
		t.Errorf("the rule for the process: %+v", m)
	}
}

func TestADeployedRelayHasNoProcesses(t *testing.T) {
	want := []string{"servers[0].config.command: a deployed relay cannot run processes: a server with a command is for a local relay only"}
	for name, e := range map[string]object{
		"one that is fine":     holding(object{"TOKEN": "key"}, object{"key": "KEY"}, "args", []any{"-y"}),
		"one with more wrong":  child("docs", "tls", object{}, "args", 7, "max_tools", 0),
		"one without a name":   child("docs", "command", ""),
		"one of a wrong shape": child("docs", "command", []any{"npx"}),
	} {
		if diff := cmp.Diff(want, problems(t, one(e), config.Options{Loopback: true})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEachProblemOfAProcessNamesItsField(t *testing.T) {
	const at = "servers[0].config."
	key := object{"key": "KEY"}
	variable := func(name string) object { return holding(object{name: "key"}, key) }
	many := make([]any, 65)
	for i := range many {
		many[i] = "-v"
	}
	variables := object{}
	for i := range 33 {
		variables[fmt.Sprint("V", i)] = "key"
	}
	cases := []struct {
		name  string
		entry object
		want  []string
	}{
		{"beside an endpoint", entry("docs", "command", "npx", "args", []any{}), []string{at + "command: it cannot stand beside endpoint: a URL means HTTP, a command means a child process"}},
		{"arguments of an endpoint", entry("docs", "args", []any{"-y"}, "env", object{}), []string{at + "args: it is for a child process, which has a command", at + "env: it is for a child process, which has a command"}},
		{"no command", child("docs", "command", ""), []string{at + "command: it is missing or empty"}},
		{"a command of another kind", child("docs", "command", []any{"npx", "-y"}), []string{at + "command: it must be a string"}},
		{"a path from here", child("docs", "command", "./server"), []string{at + "command: it is neither the name of a program nor a clean path from the root: another path depends on where the relay was started"}},
		{"a command with a control byte", child("docs", "command", "npx\x00"), []string{at + "command: its byte 4 is a control character"}},

		{"allowed_endpoints", child("docs", "allowed_endpoints", []any{url}), []string{at + "allowed_endpoints: a child process has no endpoint that could be among these"}},
		{"tls", child("docs", "tls", object{"ca_ref": "x"}), []string{at + "tls: a child process is not reached by TLS"}},
		{"ipv6", child("docs", "ipv6", false), []string{at + "ipv6: a child process has no address"}},
		{"networks", with(child("docs"), "allowed_networks", []any{}), []string{"servers[0].allowed_networks: a child process is in no network"}},
		{"another tenant", child("docs", "tenant_id", "umbra"), []string{at + "tenant_id: it is not the tenant of this registration"}},
		{"a limit", child("docs", "max_in_flight", 65), []string{at + "max_in_flight: it is over the hard cap of 64"}},

		{"arguments of another kind", child("docs", "args", "-y"), []string{at + "args: it must be a list"}},
		{"an argument of another kind", child("docs", "args", []any{"-p", 8080}), []string{at + "args[1]: it must be a string"}},
		{"too many arguments", child("docs", "args", many), []string{at + "args: it has more than 64 arguments"}},
		{"a long argument", child("docs", "args", []any{strings.Repeat("a", 4097)}), []string{at + "args[0]: it is longer than 4096 bytes"}},
		{"an argument with NUL", child("docs", "args", []any{"a", "b\x00"}), []string{at + "args[1]: its byte 2 is a control character"}},
		{"an argument with a line break", child("docs", "args", []any{"a\nb"}), []string{at + "args[0]: its byte 2 is a control character"}},
		{"an argument to be expanded", child("docs", "args", []any{"--token=${TOKEN}"}), []string{at + "args[0]: nothing is expanded in it: write what it stands for, and a secret into env"}},
		{"a secret as an argument", child("docs", "args", []any{"--token=" + lookalikes[15]}), []string{at + "args[0]: it looks like a secret itself; secrets go into env, by reference"}},

		{"variables of another kind", child("docs", "env", []any{"TOKEN=key"}), []string{at + "env: it must be an object"}},
		{"too many variables", holding(variables, key), []string{at + "env: it has more than 32 variables"}},
		{"a variable of no secret", child("docs", "env", object{"TOKEN": "key"}), []string{at + "env.TOKEN: it is not in the entry's secrets"}},
		{"a value for a variable", child("docs", "env", object{"TOKEN": lookalikes[15]}), []string{at + "env.TOKEN: it looks like a secret itself; write the name of an environment variable, or the name or ARN of a Secrets Manager secret"}},
		{"a variable of another kind", holding(object{"TOKEN": 1}, key), []string{at + "env.TOKEN: it must be a string"}},
		{"a name that begins with a digit", variable("1TOKEN"), []string{at + "env.1TOKEN: the name of a variable: its byte 1 is not one of a-z A-Z 0-9 _, or is a digit at the beginning"}},
		{"a name with a hyphen", variable("MY-TOKEN"), []string{at + "env.MY-TOKEN: the name of a variable: its byte 3 is not one of a-z A-Z 0-9 _, or is a digit at the beginning"}},
		{"the relay's variable", variable("RELAY_TOKEN"), []string{at + "env.RELAY_TOKEN: the name of a variable: this variable belongs to the relay, to its platform or to the loader of programs"}},
		{"the loader's variable", variable("LD_PRELOAD"), []string{at + "env.LD_PRELOAD: the name of a variable: this variable belongs to the relay, to its platform or to the loader of programs"}},

		{"a bearer", holding(object{"TOKEN": "key"}, key, "auth", object{"type": "bearer", "token_ref": "key"}), []string{at + "auth.type: a child process gets its credential in its variables: it is not one of none, environment"}},
		{"a type of another kind", child("docs", "auth", object{"type": 1}), []string{at + "auth.type: it must be a string"}},
		{"auth of another kind", child("docs", "auth", "none"), []string{at + "auth: it must be an object"}},
		{"no type", child("docs", "auth", object{}), []string{at + "auth.type: it is missing"}},
		{"an environment without variables", child("docs", "auth", object{"type": "environment"}), []string{at + "auth.type: it needs env, with a variable and its reference"}},
		{"none with variables", holding(object{"TOKEN": "key"}, key, "auth", object{"type": "none"}), []string{at + "auth.type: env gives the child process secrets: leave auth out, or write environment"}},
		{"an environment with more", holding(object{"TOKEN": "key"}, key, "auth", object{"type": "environment", "token_ref": "key"}), []string{at + "auth.token_ref: it is not a known field"}},
		{"an environment of an endpoint", entry("docs", "auth", object{"type": "environment"}), []string{at + "auth.type: a server with an endpoint gets its credential in headers; auth type environment is for a child process"}},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, problems(t, one(c.entry), local)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestUsableProcesses(t *testing.T) {
	for name, e := range map[string]object{
		"no credential":       child("docs", "auth", object{"type": "none"}),
		"empty lists":         child("docs", "args", []any{}, "env", object{}),
		"a repeated argument": child("docs", "args", []any{"-v", "-v", ""}),
		"a pinned image":      child("docs", "args", []any{"run", "-i", "docs@sha256:" + strings.Repeat("0a", 32)}),
		"a pinned commit":     child("docs", "args", []any{"git+https://git.example.com/docs#" + strings.Repeat("0a", 20)}),
		"one of two words":    holding(object{"A": "key", "B": "key"}, object{"key": "KEY"}),
		"PATH":                holding(object{"PATH": "path"}, object{"path": object{"env": "PATH"}}),
	} {
		if got := problems(t, one(e), local); got != nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A caller's token is a secret of nobody, a child process included.
func TestACallersTokenIsNoVariable(t *testing.T) {
	caller := object{"subject": "dev", "kind": "user", "scopes": []any{}, "token_env": "DEV"}
	got := problems(t, file([]any{holding(object{"TOKEN": "key"}, object{"key": "DEV"})}, "callers", []any{caller}), local)
	want := []string{"callers[0].token_env: it is also the secret of a server: a caller's own credential never goes upstream"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
