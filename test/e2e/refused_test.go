package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/test/peers"
)

// refusing is a relay in front of a counted real server, registered in every
// way that must be refused.
type refusing struct {
	*process
	counter *peers.Counter
	data    string
}

func startRefusing(t *testing.T) refusing {
	t.Helper()
	counter := peers.Counted(t, peers.Everything(t))
	withToken := func(name, variable string) server {
		s := entry(name, counter.URL, nil).with("auth", map[string]any{"type": "bearer", "token_ref": name + "-ref"})
		s["secrets"] = map[string]any{name + "-ref": variable}
		return s
	}
	servers := []server{
		entry("up", counter.URL, map[string]string{"echo": "read"}).with("allowed_tools", []string{"echo"}),
		entry("norule", counter.URL, nil), entry("hostonly", counter.URL, nil),
		entry("denied", counter.URL, nil), entry("asks", counter.URL, nil),
		withToken("nosecretrule", "E2E_GOOD"), withToken("unset", "E2E_UNSET"), withToken("broken", "E2E_BROKEN"),
	}
	rules := []rule{
		{"action": "mcp.denied.tool.echo", "decision": "deny"}, {"action": "mcp.asks.tool.echo", "decision": "ask"},
		allow("secret.use.unset-ref"), allow("secret.use.broken-ref"),
	}
	for _, name := range []string{"up", "hostonly", "denied", "asks", "nosecretrule", "unset", "broken"} {
		rules = append(rules, allow("mcp."+name+".host.127.0.0.1"))
		if name != "hostonly" {
			rules = append(rules, allow("mcp."+name+".tool.*"))
		}
	}
	data := t.TempDir()
	config := writeConfig(t, servers, rules, nil)
	env := []string{"E2E_GOOD=abcdefgh12345678", "E2E_BROKEN=abcdefgh\n12345678", "E2E_UNSET="}
	relay := serve(t, env, "--config", config, "--data", data, "--allow-loopback")
	return refusing{process: relay, counter: counter, data: data}
}

func TestWhatTheConfigForbidsIsRefusedWithItsReason(t *testing.T) {
	relay := startRefusing(t)
	for _, test := range []struct {
		server, tool string
		status       int
		reason       call.Reason
		outcome      call.Outcome
		rule         string // named in the record
	}{
		{"nowhere", "echo", 404, call.UnknownServer, call.RefusedByPolicy, ""},
		{"up", "shell", 404, call.UnknownTool, call.RefusedByPolicy, ""},
		{"norule", "echo", 403, call.NoRule, call.RefusedByPolicy, "mcp.norule.host.127.0.0.1"},
		{"hostonly", "echo", 403, call.NoRule, call.RefusedByPolicy, "mcp.hostonly.tool.echo"},
		{"denied", "echo", 403, call.DeniedByRule, call.RefusedByPolicy, "mcp.denied.tool.echo"},
		{"asks", "echo", 403, call.RuleAsks, call.RefusedByPolicy, "mcp.asks.tool.echo"},
		{"nosecretrule", "echo", 403, call.CredentialNoRule, call.RefusedByPolicy, "secret.use.nosecretrule-ref"},
		{"unset", "echo", 502, call.SecretMissing, call.NoAnswer, "mcp.unset.tool.*"},
		{"broken", "echo", 502, call.SecretUnusable, call.NoAnswer, "mcp.broken.tool.*"},
	} {
		t.Run(test.server+"/"+string(test.reason), func(t *testing.T) {
			plain := relay.post(t, "/v1/servers/"+test.server+"/tools/"+test.tool, `{"arguments":{"message":"hi"}}`)
			checkProblem(t, plain, test.status, test.reason)
			wantRefusal(t, relay.data, test.outcome, test.reason, test.rule)
			mcp := relay.post(t, "/v1/servers/"+test.server+"/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":{"message":"hi"}}}`, test.tool))
			checkRPCError(t, mcp, 200, "7", test.reason)
			wantRefusal(t, relay.data, test.outcome, test.reason, test.rule)
		})
	}
	if got := len(relay.counter.All()); got != 0 {
		t.Errorf("the server saw %d requests, want 0", got)
	}
	for _, name := range []string{"norule", "unset", "broken", "nosecretrule"} {
		if said := strings.Join(relay.lines, "\n"); !strings.Contains(said, "server "+name+" is unusable") {
			t.Errorf("serve does not say at start that %s is unusable: %s", name, said)
		}
	}
	for _, secret := range []string{"abcdefgh12345678", "12345678"} {
		if strings.Contains(relay.stderr.String(), secret) {
			t.Errorf("the log holds a secret or a part of one: %s", relay.stderr)
		}
	}
}

func checkProblem(t *testing.T, r reply, status int, reason call.Reason) {
	t.Helper()
	var problem struct {
		CallID                                        string `json:"call_id"`
		Stage, Reason, Outcome, Effect, Detail, Title string
		Status                                        int
	}
	if err := json.Unmarshal(r.body, &problem); err != nil {
		t.Fatalf("body %s: %v", r.body, err)
	}
	row := reason.Row()
	if r.status != status || problem.Status != status || r.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("status %d (%s), want %d: %s", r.status, r.header.Get("Content-Type"), status, r.body)
	}
	if problem.Reason != string(reason) || problem.Stage != string(row.Stage) || problem.Outcome != string(row.Outcome) ||
		problem.Effect != "none" || problem.Title != row.Sentence || len(problem.CallID) != 26 || !strings.Contains(problem.Detail, problem.CallID) {
		t.Errorf("problem %s, want the row of %s", r.body, reason)
	}
}

func checkRPCError(t *testing.T, r reply, status int, id string, reason call.Reason) {
	t.Helper()
	var message struct {
		ID    json.RawMessage
		Error struct {
			Code    int
			Message string
			Data    struct {
				CallID                string `json:"call_id"`
				Stage, Reason, Effect string
			}
		}
	}
	if err := json.Unmarshal(r.body, &message); err != nil {
		t.Fatalf("body %s: %v", r.body, err)
	}
	row, e := reason.Row(), message.Error
	if r.status != status || string(message.ID) != id || e.Code != row.Code || e.Data.Reason != string(reason) ||
		e.Data.Stage != string(row.Stage) || e.Data.Effect != "none" || !strings.Contains(e.Message, e.Data.CallID) || len(e.Data.CallID) != 26 {
		t.Errorf("status %d, body %s; want %d and the row of %s", r.status, r.body, status, reason)
	}
}

func wantRefusal(t *testing.T, data string, outcome call.Outcome, reason call.Reason, rule string) {
	t.Helper()
	record := last(t, data)
	if record.State != audit.StateFinal || record.Outcome != outcome || record.Reason != reason || record.Agent != "local" || record.Posts != 0 {
		t.Errorf("record %+v, want %s/%s", record, outcome, reason)
	}
	if record.Rule != rule {
		t.Errorf("the record names rule %q, want %q", record.Rule, rule)
	}
	if outcome == call.RefusedByPolicy && record.Decision != call.Deny {
		t.Errorf("the record's decision is %q, want deny", record.Decision)
	}
}

func TestHiddenAndMissingLookTheSameWhereTheTenantDoesNotExplain(t *testing.T) {
	counter := peers.Counted(t, peers.Everything(t))
	config := writeConfig(t, []server{entry("hidden", counter.URL, nil)}, []rule{allow("mcp.other.tool.*")}, map[string]any{"explain_refusals": false})
	relay := serve(t, nil, "--config", config, "--data", t.TempDir(), "--allow-loopback")
	bodies := map[string]string{}
	for _, path := range []string{"hidden/mcp", "missing/mcp", "hidden/tools/echo", "missing/tools/echo"} {
		body := `{"arguments":{}}`
		if strings.HasSuffix(path, "mcp") {
			body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}}`
		}
		r := relay.post(t, "/v1/servers/"+path, body)
		var id struct {
			CallID string `json:"call_id"`
			Error  struct {
				Data struct {
					CallID string `json:"call_id"`
				}
			}
		}
		if err := json.Unmarshal(r.body, &id); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(strings.ReplaceAll(string(r.body), id.CallID+"", ""), id.Error.Data.CallID, "")
		bodies[path] = fmt.Sprint(r.status, text)
	}
	if bodies["hidden/mcp"] != bodies["missing/mcp"] || bodies["hidden/tools/echo"] != bodies["missing/tools/echo"] {
		t.Errorf("an agent can tell hidden from missing: %v", bodies)
	}
}

func TestMalformedRequestsAreRefusedBeforeAnyUpstreamByte(t *testing.T) {
	relay := startRefusing(t)
	good := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"}}}`
	big := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"` + strings.Repeat("a", 1<<20) + `"}}}`
	for _, test := range []struct {
		name, path, body string
		headers          []string
		status           int
		reason           call.Reason
	}{
		{"not JSON", "mcp", `{"jsonrpc":`, nil, 400, call.BadJSON},
		{"empty", "mcp", ``, nil, 400, call.BadJSON},
		{"trailing data", "mcp", good + good, nil, 400, call.BadJSON},
		{"batch", "mcp", `[` + good + `]`, nil, 400, call.BadRequest},
		{"duplicate key", "mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"echo"}}`, nil, 400, call.BadJSON},
		{"duplicate name by escape", "mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","n\u0061me":"add"}}`, nil, 400, call.BadJSON},
		{"case variant", "mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","Name":"add"}}`, nil, 400, call.BadParams},
		{"folding variant", "mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","paramſ":{},"params":{"name":"echo"}}`, nil, 400, call.BadRequest},
		{"null id", "mcp", `{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"echo"}}`, nil, 400, call.BadRequest},
		{"fractional id", "mcp", `{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"echo"}}`, nil, 400, call.BadRequest},
		{"invalid UTF-8", "mcp", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"\xff\"}}", nil, 400, call.BadJSON},
		{"oversized", "mcp", big, nil, 413, call.TooLarge},
		{"wrong content type", "mcp", good, []string{"Content-Type", "text/plain"}, 415, call.UnsupportedMediaType},
		{"no content type", "mcp", good, []string{"Content-Type", ""}, 415, call.UnsupportedMediaType},
		{"foreign origin", "mcp", good, []string{"Origin", "https://evil.example.com"}, 403, call.BadOrigin},
		{"unknown legacy version", "mcp", good, []string{"MCP-Protocol-Version", "1999-01-01"}, 400, call.UnsupportedVersion},
		{"modern header without meta", "mcp", good, []string{"MCP-Protocol-Version", "2026-07-28"}, 400, call.BadParams},
		{"plain: not JSON", "tools/echo", `{`, nil, 400, call.BadJSON},
		{"plain: duplicate key", "tools/echo", `{"arguments":{"a":1,"a":2}}`, nil, 400, call.BadJSON},
		{"plain: unknown member", "tools/echo", `{"args":{}}`, nil, 400, call.BadRequest},
		{"plain: arguments not an object", "tools/echo", `{"arguments":[]}`, nil, 400, call.BadParams},
		{"plain: oversized", "tools/echo", `{"arguments":{"message":"` + strings.Repeat("a", 1<<20) + `"}}`, nil, 413, call.TooLarge},
		{"plain: wrong content type", "tools/echo", `{"arguments":{}}`, []string{"Content-Type", "text/plain"}, 415, call.UnsupportedMediaType},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := len(trail(t, relay.data))
			r := relay.post(t, "/v1/servers/up/"+test.path, test.body, test.headers...)
			if r.status != test.status || !strings.Contains(string(r.body), `"reason":"`+string(test.reason)+`"`) {
				t.Errorf("got %d %s, want %d %s", r.status, r.body, test.status, test.reason)
			}
			records := trail(t, relay.data)
			recorded := test.reason != call.BadOrigin // refused before the caller is known
			if got := len(records) - before; (got == 1) != recorded {
				t.Fatalf("%d records, want one where the caller was known", got)
			}
			if recorded && (records[0].Reason != test.reason || records[0].Outcome != call.Rejected || records[0].Policy != call.PolicyNotRun) {
				t.Errorf("record %+v, want rejected/%s", records[0], test.reason)
			}
		})
	}
	if got := len(relay.counter.All()); got != 0 {
		t.Errorf("the server saw %d requests, want 0", got)
	}
}

func TestStrangersAreRefusedWithoutARecord(t *testing.T) {
	relay := startRefusing(t)
	for _, credential := range []string{"", "Bearer", "Bearer wrong", "Basic abc", "Bearer " + relay.token + "x", "Bearer mrt_0000000000000000000000000000000000000000000000"} {
		r := relay.post(t, "/v1/servers/up/tools/echo", `{"arguments":{}}`, "Authorization", credential)
		if r.status != 401 || !strings.HasPrefix(r.header.Get("WWW-Authenticate"), "Bearer") || !strings.Contains(string(r.body), `"reason":"unauthenticated"`) {
			t.Errorf("%q: got %d %s", credential, r.status, r.body)
		}
	}
	if got := len(trail(t, relay.data)); got != 0 {
		t.Errorf("strangers left %d records, want 0", got)
	}
	if !strings.Contains(relay.stderr.String(), `"reason":"unauthenticated"`) {
		t.Error("strangers left no log line")
	}
	if got := len(relay.counter.All()); got != 0 {
		t.Errorf("the server saw %d requests, want 0", got)
	}
}

func TestOnlyPOSTIsAllowedOnTheMCPPath(t *testing.T) {
	relay := startRefusing(t)
	for _, method := range []string{"GET", "DELETE", "PUT"} {
		for _, path := range []string{"/v1/servers/up/mcp", "/v1/servers/up/mcp/"} {
			r := relay.do(t, method, path, "", "Authorization", "Bearer "+relay.token)
			if r.status != 405 || r.header.Get("Allow") != "POST" {
				t.Errorf("%s %s: got %d, Allow %q", method, path, r.status, r.header.Get("Allow"))
			}
		}
	}
	if r := relay.do(t, "GET", "/healthz", ""); r.status != 200 || !strings.Contains(string(r.body), `"version"`) {
		t.Errorf("healthz: %d %s", r.status, r.body)
	}
	if r := relay.do(t, "GET", "/.well-known/oauth-authorization-server", ""); r.status != 404 {
		t.Errorf("an unknown path: %d, want 404", r.status)
	}
}

// A stranger who announces a body and sends none is answered at once.
func TestAStrangerIsNotWaitedFor(t *testing.T) {
	relay := startRefusing(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(relay.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "POST /v1/servers/up/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(conn) // to the end: the connection is closed
	if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 401 ") {
		t.Errorf("got %q, %v", text, err)
	}
}
