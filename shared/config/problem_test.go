package config_test

import (
	"fmt"
	"strings"
	"testing"

	"mcprelay/shared/config"

	"github.com/google/go-cmp/cmp"
)

// bearer is an entry with a credential.
func bearer(secrets any) object {
	return with(entry("docs", "auth", object{"type": "bearer", "token_ref": "key"}), "secrets", secrets)
}

// tools is an entry with exact tools, a read and a write.
func tools(changes ...any) object {
	e := entry("docs", "allowed_tools", []any{"get", "put"}, "effects", object{"get": "read", "put": "write"})
	set(e["config"].(object), changes)
	return e
}

func TestEachProblemNamesItsFieldAndReason(t *testing.T) {
	headers := func(h ...any) object {
		return with(entry("docs", "auth", object{"type": "headers", "headers": append([]any{}, h...)}), "secrets", object{"key": "KEY", "two": "TWO"})
	}
	header := func(as string) object { return object{"as": as, "token_ref": "key"} }
	rule := func(r ...any) object { return file([]any{}, "rules", append([]any{}, r...)) }
	caller := func(c ...any) object { return file([]any{}, "callers", append([]any{}, c...)) }
	dev := object{"subject": "dev", "kind": "user", "scopes": []any{"call"}, "token_env": "DEV"}
	cases := []struct {
		name string
		file any
		want []string
	}{
		// The text.
		{"nothing", ``, []string{": it ends in the middle of a JSON value"}},
		{"cut", `{"tenant":`, []string{": it ends in the middle of a JSON value"}},
		{"no object", `[]`, []string{": it must be an object"}},
		{"null", `null`, []string{": it must be an object"}},
		{"two values", `{"tenant":"acme"} {}`, []string{": something follows the end of the JSON value"}},
		{"a mark", "\xef\xbb\xbf{}", []string{": it begins with a byte order mark, which JSON does not have"}},
		{"a comment", "{\n // x\n}", []string{": line 2 is not valid JSON from its byte 2 on"}},
		{"duplicate", `{"tenant":"a","tenant":"b"}`, []string{"tenant: it is there twice"}},
		{"duplicate inside", `{"tenant":"a","servers":[{"config":{"auth":{"type":"none","type":"bearer"}}}]}`, []string{"servers[0].config.auth.type: it is there twice"}},
		{"duplicate by escape", `{"tenant":"a","ten\u0061nt":"b"}`, []string{"tenant: it is there twice"}},
		{"too deep", `{"tenant":"acme","servers":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, []string{": it is nested deeper than 32 levels"}},

		// The top.
		{"no tenant", `{}`, []string{"tenant: it is missing"}},
		{"tenant of another kind", `{"tenant":1}`, []string{"tenant: it must be a string"}},
		{"bad tenant", `{"tenant":"a/b"}`, []string{"tenant: its byte 2 is not one of a-z A-Z 0-9 ._-"}},
		{"unknown field", file([]any{}, "serverz", 1), []string{"serverz: it is not a known field"}},
		{"unknown field in another case", file([]any{}, "Rules", []any{}), []string{"Rules: it is not a known field"}},
		{"odd field", file([]any{}, "a.b", 1), []string{"[name 0]: it is not a known field"}},
		{"servers of another kind", `{"tenant":"a","servers":{}}`, []string{"servers: it must be a list"}},
		{"settings of turns and policies", file([]any{}, "require_turn", "reads", "on_policy_error", true), []string{"on_policy_error: it must be a string", "require_turn: it is not one of none, writes, all"}},
		{"settings", file([]any{}, "audit_intent", "none", "audit_final", 1, "audit_arguments", "full", "explain_refusals", "yes"),
			[]string{"audit_intent: it is not one of writes, all", "audit_final: it must be a string", "audit_arguments: it is not one of preview, digest, none", "explain_refusals: it must be true or false"}},

		{"too many servers for one caller", file([]any{}, "max_servers", 65), []string{"max_servers: it is over the hard cap of 64"}},
		{"no server for anybody", file([]any{}, "max_servers", 0), []string{"max_servers: it is under the least of 1"}},
		{"servers for one caller of another kind", file([]any{}, "max_servers", "8"), []string{"max_servers: it must be a whole number"}},

		// A server.
		{"entry of another kind", file([]any{"docs", nil}), []string{"servers[0]: it must be an object", "servers[1]: it must be an object"}},
		{"empty entry", file([]any{object{}}), []string{"servers[0].name: it is missing", "servers[0].config: it is missing"}},
		{"bad name", one(entry("Docs")), []string{"servers[0].name: it must begin with one of a-z"}},
		{"same names", file([]any{entry("docs"), entry("wiki"), entry("docs")}), []string{"servers[2].name: another server has this name"}},
		{"unknown field of an entry", one(with(entry("docs"), "url", url)), []string{"servers[0].url: it is not a known field"}},
		{"unknown field of a config", one(entry("docs", "url", url)), []string{"servers[0].config.url: it is not a known field"}},
		{"no endpoint", one(entry("docs", "endpoint", nil)), []string{"servers[0].config.endpoint: it is missing"}},
		{"plain http", one(entry("docs", "endpoint", "http://mcp.example.com/v1")), []string{"servers[0].config.endpoint: scheme: an endpoint starts with https:// in lower case"}},
		{"not listed", one(entry("docs", "allowed_endpoints", []any{url + "/"})), []string{"servers[0].config.allowed_endpoints: it does not hold the endpoint, byte for byte"}},
		{"none listed", one(entry("docs", "allowed_endpoints", []any{})), []string{"servers[0].config.allowed_endpoints: it is empty; leave it out instead"}},
		{"bad one listed", one(entry("docs", "allowed_endpoints", []any{url, "http://mcp.example.com/v1"})), []string{"servers[0].config.allowed_endpoints[1]: scheme: an endpoint starts with https:// in lower case"}},
		{"another tenant", one(entry("docs", "tenant_id", "umbra")), []string{"servers[0].config.tenant_id: it is not the tenant of this registration"}},
		{"description", one(entry("docs", "source_description", "a\u0007b")), []string{"servers[0].config.source_description: it holds a control character"}},
		{"long description", one(entry("docs", "source_description", strings.Repeat("a", 1025))), []string{"servers[0].config.source_description: it is longer than 1024 bytes"}},
		{"unexpected_tools", one(entry("docs", "unexpected_tools", "allow")), []string{"servers[0].config.unexpected_tools: it is not one of fail, hide"}},
		{"turns", one(entry("docs", "require_turn", "")), []string{"servers[0].config.require_turn: it is not one of none, writes, all"}},
		{"pins and questions", one(entry("docs", "pin", "Block", "elicitation", true)),
			[]string{"servers[0].config.pin: it is not one of block, warn, off", "servers[0].config.elicitation: it must be a string"}},
		{"pins and questions of another kind", one(entry("docs", "pin", []any{"block"}, "elicitation", "")),
			[]string{"servers[0].config.pin: it must be a string", "servers[0].config.elicitation: it is not one of refuse, pass"}},
		{"ipv6 of another kind", one(entry("docs", "ipv6", "yes")), []string{"servers[0].config.ipv6: it must be true or false"}},

		// Limits.
		{"over a cap", one(entry("docs", "request_timeout_ms", 600001)), []string{"servers[0].config.request_timeout_ms: it is over the hard cap of 600000"}},
		{"far over a cap", one(entry("docs", "max_tools", raw("1"+strings.Repeat("0", 30)))), []string{"servers[0].config.max_tools: it is over the hard cap of 512"}},
		{"zero", one(entry("docs", "max_tools", 0)), []string{"servers[0].config.max_tools: it is under the least of 1"}},
		{"a fraction", one(entry("docs", "max_tools", raw("1.0"))), []string{"servers[0].config.max_tools: it must be a whole number"}},
		{"an exponent", one(entry("docs", "max_tools", raw("1e1"))), []string{"servers[0].config.max_tools: it must be a whole number"}},
		{"a string", one(entry("docs", "max_tools", "10")), []string{"servers[0].config.max_tools: it must be a whole number"}},

		{"limits over their caps", one(entry("docs", "close_timeout_ms", 10001, "max_frame_bytes", 5<<20+1, "max_in_flight", 65, "reconnect_attempts", 4, "backoff_ms", 5001)),
			[]string{"servers[0].config.close_timeout_ms: it is over the hard cap of 10000", "servers[0].config.max_frame_bytes: it is over the hard cap of 5242880", "servers[0].config.max_in_flight: it is over the hard cap of 64",
				"servers[0].config.reconnect_attempts: it is over the hard cap of 3", "servers[0].config.backoff_ms: it is over the hard cap of 5000"}},

		// Credentials.
		{"auth of another kind", one(entry("docs", "auth", "none")), []string{"servers[0].config.auth: it must be an object"}},
		{"no type", one(entry("docs", "auth", object{})), []string{"servers[0].config.auth.type: it is missing"}},
		{"unknown type", one(entry("docs", "auth", object{"type": "magic"})), []string{"servers[0].config.auth.type: it is not one of none, bearer, headers"}},
		{"query", one(entry("docs", "auth", object{"type": "query", "as": "k", "token_ref": "key"})), []string{"servers[0].config.auth.type: auth type query is not supported by this version"}},
		{"oauth", one(entry("docs", "auth", object{"type": "oauth_user", "scopes": []any{}})), []string{"servers[0].config.auth.type: auth type oauth_user is not supported by this version"}},
		{"sigv4", one(entry("docs", "auth", object{"type": "aws_sigv4"})), []string{"servers[0].config.auth.type: auth type aws_sigv4 is not supported by this version"}},
		{"none with a reference", one(entry("docs", "auth", object{"type": "none", "token_ref": "x"})), []string{"servers[0].config.auth.token_ref: it is not a known field"}},
		{"bearer without a reference", one(entry("docs", "auth", object{"type": "bearer"})), []string{"servers[0].config.auth.token_ref: it is missing"}},
		{"bearer without a secret", one(entry("docs", "auth", object{"type": "bearer", "token_ref": "key"})), []string{"servers[0].config.auth.token_ref: it is not in the entry's secrets"}},
		{"bearer with headers", one(with(entry("docs", "auth", object{"type": "bearer", "token_ref": "key", "headers": []any{}}), "secrets", object{"key": "KEY"})), []string{"servers[0].config.auth.headers: it is not a known field"}},
		{"no headers", one(headers()), []string{"servers[0].config.auth.headers: it must have 1 to 8 headers"}},
		{"a header of the protocol", one(headers(header("Host"))), []string{"servers[0].config.auth.headers[0].as: this header belongs to the protocol or to the connection"}},
		{"a header without a name", one(headers(object{"token_ref": "key"})), []string{"servers[0].config.auth.headers[0].as: it is missing"}},
		{"a header of no secret", one(headers(object{"as": "X-Key", "token_ref": "three"})), []string{"servers[0].config.auth.headers[0].token_ref: it is not in the entry's secrets"}},
		{"a header twice", one(headers(header("X-Key"), header("x-key"))), []string{"servers[0].config.auth.headers[1].as: another header has this name"}},

		// Secrets.
		{"secrets of another kind", one(with(entry("docs"), "secrets", []any{})), []string{"servers[0].secrets: it must be an object"}},
		{"a source of another kind", one(bearer(object{"key": 1})), []string{`servers[0].secrets.key: it must be a name, or {"env": …, "secret": …}`}},
		{"an empty source", one(bearer(object{"key": object{}})), []string{"servers[0].secrets.key: it is empty: env, secret or both are needed"}},
		{"an unknown source", one(bearer(object{"key": object{"env": "X", "file": "/x"}})), []string{"servers[0].secrets.key.file: it is not a known field"}},
		{"the relay's own", one(bearer(object{"key": "AWS_SESSION_TOKEN"})), []string{"servers[0].secrets.key: this environment variable is the relay's or the platform's own"}},
		{"bad reference", one(with(entry("docs"), "secrets", object{"a b": "KEY"})), []string{`servers[0].secrets[name 0]: the name of a secret: its byte 2 is not one of a-z A-Z 0-9 ._-`}},
		{"a secret as a reference", one(with(entry("docs"), "secrets", object{"x9-" + lookalikes[15]: "KEY"})), []string{"servers[0].secrets[name 0]: the name of a secret: it looks like a secret itself"}},
		{"two meanings", file([]any{with(entry("a"), "secrets", object{"key": "ONE"}), with(entry("b"), "secrets", object{"key": "TWO"})}), []string{"servers[1].secrets.key: this reference has another source in server a"}},

		// Tools.
		{"a tool without effect", one(tools("effects", object{"get": "read"})), []string{`servers[0].config.effects.put: tool "put" of allowed_tools needs an effect, read or write`}},
		{"no effects", one(tools("effects", nil)), []string{`servers[0].config.effects.get: tool "get" of allowed_tools needs an effect, read or write`, `servers[0].config.effects.put: tool "put" of allowed_tools needs an effect, read or write`}},
		{"unknown effect", one(entry("docs", "effects", object{"get": "none"})), []string{"servers[0].config.effects.get: it is not one of read, write"}},
		{"effect of another kind", one(entry("docs", "effects", object{"get": true})), []string{"servers[0].config.effects.get: it must be a string"}},
		{"a tool twice", one(entry("docs", "allowed_tools", []any{"get", "get"}, "effects", object{"get": "read"})), []string{"servers[0].config.allowed_tools[1]: it is there twice"}},
		{"no tools", one(entry("docs", "allowed_tools", []any{})), []string{"servers[0].config.allowed_tools: it is empty; leave it out instead"}},
		{"a tool with a control character", one(entry("docs", "allowed_tools", []any{"a\u0000"})), []string{"servers[0].config.allowed_tools[0]: it begins or ends with a blank, or holds a control character", `servers[0].config.effects: tool "a\x00" of allowed_tools needs an effect, read or write`, `servers[0].config.bindings: tool "a\x00" needs a binding: its own name cannot be offered: its byte 2 is not one of a-z A-Z 0-9 _.-`}},
		{"a name that cannot be offered", one(entry("docs", "allowed_tools", []any{"a b"}, "effects", object{"a b": "read"})), []string{`servers[0].config.bindings: tool "a b" needs a binding: its own name cannot be offered: its byte 2 is not one of a-z A-Z 0-9 _.-`}},
		{"maps with other tools", one(tools("bindings", object{"del": "x"}, "budget_classes", object{"del": "x"}, "policy_metadata", object{"del": object{}})),
			[]string{"servers[0].config.bindings.del: this tool is not in allowed_tools", "servers[0].config.budget_classes.del: this tool is not in allowed_tools", "servers[0].config.policy_metadata.del: this tool is not in allowed_tools"}},
		{"one name for two tools", one(entry("docs", "bindings", object{"a": "x", "b": "x"})), []string{`servers[0].config.bindings.b: tool "a" is offered under this name already`}},
		{"the name of another tool", one(tools("bindings", object{"get": "put"})), []string{`servers[0].config.bindings.get: tool "put" is offered under this name already`}},
		{"a bad offered name", one(tools("bindings", object{"get": "g t"})), []string{"servers[0].config.bindings.get: its byte 2 is not one of a-z A-Z 0-9 _.-"}},
		{"a budget class of no budget", file([]any{tools("budget_classes", object{"get": "x"})}, "budgets", object{"y": object{"per_day": 1}}), []string{"servers[0].config.budget_classes.get: no budget has this class"}},
		{"a bad budget class", one(tools("budget_classes", object{"get": ""})), []string{"servers[0].config.budget_classes.get: it is missing or empty"}},
		{"metadata of another kind", one(tools("policy_metadata", object{"get": true})), []string{"servers[0].config.policy_metadata.get: it must be an object"}},
		{"large metadata", one(tools("policy_metadata", object{"get": object{"x": strings.Repeat("a", 1024-len(`{"x":""}`)+1)}})), []string{"servers[0].config.policy_metadata.get: it is larger than 1024 bytes of compact JSON"}},
		{"a write called read-only", one(tools("policy_metadata", object{"put": object{"read_only": true}})), []string{"servers[0].config.policy_metadata.put.read_only: the effect of this tool is write"}},
		{"an unclassified tool called read-only", one(entry("docs", "policy_metadata", object{"put": object{"read_only": true}})), []string{"servers[0].config.policy_metadata.put.read_only: the effect of this tool is not set, which counts as write"}},
		{"read_only of another kind", one(tools("policy_metadata", object{"put": object{"read_only": "yes"}})), []string{"servers[0].config.policy_metadata.put.read_only: it must be true or false"}},

		// Networks.
		{"networks of another kind", one(with(entry("docs"), "allowed_networks", "10.0.0.0/8")), []string{"servers[0].allowed_networks: it must be a list"}},
		{"a public network", one(with(entry("docs"), "allowed_networks", []any{"8.8.8.0/24"})), []string{"servers[0].allowed_networks[0]: it is not a private network: 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 and fc00::/7 are"}},
		{"not canonical", one(with(entry("docs"), "allowed_networks", []any{"10.1.2.3/8"})), []string{"servers[0].allowed_networks[0]: it is not in canonical form: 10.0.0.0/8"}},
		{"no network", one(with(entry("docs"), "allowed_networks", []any{"corp"})), []string{"servers[0].allowed_networks[0]: it is not a network such as 10.20.0.0/16"}},
		{"overlapping", one(with(entry("docs"), "allowed_networks", []any{"10.0.0.0/8", "10.0.0.0/16"})), []string{"servers[0].allowed_networks[1]: it overlaps 10.0.0.0/8"}},

		// Rules.
		{"unknown decision", rule(object{"action": "mcp.up.tool.*", "decision": "maybe"}), []string{`rules[0].decision: "maybe" is not allow, ask or deny`}},
		{"a rule of another kind", rule("allow"), []string{"rules[0]: it must be an object"}},
		{"an empty rule", rule(object{"action": "mcp.*", "decision": "allow"}, object{}), []string{"rules[1].action: it is missing"}},
		{"an unknown field of a rule", rule(object{"action": "mcp.*", "decision": "allow", "for": "x"}), []string{"rules[0].for: it is not a known field"}},
		{"a rule that matches nothing", rule(object{"action": "mcp.docs.hots.*", "decision": "deny"}), []string{`rules[0].action: "hots" is not host, process, tool, resource or prompt`}},
		{"a decision that is no word", rule(object{"action": "mcp.*", "decision": "hunter2!"}), []string{"rules[0].decision: it is not allow, ask or deny"}},
		{"a rule with something odd", rule(object{"action": "mcp.docs.hunter2!.*", "decision": "deny"}), []string{"rules[0].action: its third word is not host, process, tool, resource or prompt"}},
		{"an empty to", rule(object{"action": "secret.use.x", "decision": "allow", "to": []any{}}), []string{"rules[0].to: it is empty: leave it out, or list servers as mcp.<server>.*"}},
		{"a to of everybody", rule(object{"action": "secret.use.x", "decision": "allow", "to": []any{"mcp.docs.*", "mcp.*"}}), []string{"rules[0].to[1]: it must name one server: mcp.<server>.*, mcp.<server>.host.<host> or mcp.<server>.process"}},

		// Callers.
		{"an empty caller", caller(object{}), []string{"callers[0].subject: it is missing", "callers[0].kind: it is missing", "callers[0].scopes: it is missing", "callers[0].token_env: it is missing"}},
		{"a caller of unknown kind", caller(with(dev, "kind", "root")), []string{"callers[0].kind: it is not one of user, service_token, trusted_issuer, other"}},
		{"a caller of unknown scope", caller(with(dev, "scopes", []any{"call", "admin"})), []string{"callers[0].scopes[1]: it is not one of call, audit:read, admin:read, admin:write"}},
		{"two callers of one subject", caller(dev, with(dev, "token_env", "TWO")), []string{"callers[1].subject: another caller has this subject"}},
		{"two callers of one token", caller(dev, with(dev, "subject", "ops")), []string{"callers[1].token_env: another caller has this token"}},
		{"a caller's token as a secret", file([]any{bearer(object{"key": "DEV"})}, "callers", []any{dev}), []string{"callers[0].token_env: it is also the secret of a server: a caller's own credential never goes upstream"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, problems(t, c.file, config.Options{})); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProblemsAreReportedTogether(t *testing.T) {
	f := file([]any{entry("Docs", "max_tools", 1000, "auth", object{"type": "magic"}), entry("wiki", "endpoint", "http://x")}, "rules", []any{object{"action": "*", "decision": "allow"}}, "nope", 1)
	_, err := config.Parse("relay.json", text(t, f), config.Options{})
	want := strings.Join([]string{
		"relay.json: nope: it is not a known field",
		"relay.json: servers[0].name: it must begin with one of a-z",
		"relay.json: servers[0].config.auth.type: it is not one of none, bearer, headers",
		"relay.json: servers[0].config.max_tools: it is over the hard cap of 512",
		"relay.json: servers[1].config.endpoint: scheme: an endpoint starts with https:// in lower case",
		`relay.json: rules[0].action: a "*" needs something before it, as in mcp.docs.*`,
	}, "\n")
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestReportsAreBounded(t *testing.T) {
	var servers []any
	for i := range 100 {
		servers = append(servers, entry(fmt.Sprintf("Bad%d", i)))
	}
	if got := problems(t, file(servers), config.Options{}); len(got) != 20 {
		t.Errorf("%d problems are reported, want 20", len(got))
	}
}

func TestRegistrationsAreBounded(t *testing.T) {
	var servers, callers []any
	for i := range 300 {
		servers = append(servers, entry(fmt.Sprintf("s%d", i)))
		callers = append(callers, object{"subject": fmt.Sprint(i), "kind": "user", "scopes": []any{}, "token_env": fmt.Sprint("T", i)})
	}
	networks := make([]any, 40)
	for i := range networks {
		networks[i] = fmt.Sprintf("10.%d.0.0/16", i)
	}
	effects := object{}
	for i := range 4000 {
		effects[fmt.Sprintf("%0100d", i)] = "read"
	}
	for name, c := range map[string]struct {
		file any
		want string
	}{
		"servers":  {file(servers), "servers[256]: a tenant has at most 256 servers"},
		"callers":  {file([]any{}, "callers", callers), "callers: it has more than 64 callers"},
		"networks": {one(with(entry("docs"), "allowed_networks", networks)), "servers[0].allowed_networks: it has more than 32 networks"},
		"an entry": {one(entry("docs", "effects", effects)), "servers[0]: it is larger than 300000 bytes, the most that a store keeps of it"},
	} {
		if diff := cmp.Diff([]string{c.want}, problems(t, c.file, config.Options{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
