package e2e_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
)

// governed is one config file in which everything that says who may call what
// is there: narrowed callers, a budget, two policies.
type governed struct {
	config, data string
	docs, mail   *upstream
}

// noSecrets refuses, wanderer only remarks.
const (
	noSecrets = "package mcprelay.policy\n\ndeny contains \"no secret is written\" if {\n\tinput.gateway.upstream_tool == \"write\"\n\tcontains(input.request.params.arguments.text, \"secret\")\n}\n"
	wanderer  = "package mcprelay.policy\n\ndeny contains msg if {\n\tinput.gateway.upstream_tool == \"other\"\n\tmsg := sprintf(\"%s strays\", [input.auth.subject])\n}\n"
)

func newGoverned(t *testing.T) governed {
	t.Helper()
	g := governed{data: t.TempDir(), docs: startUpstream(t), mail: startUpstream(t)}
	effects := map[string]string{"look": "read", "echo": "read"}
	callers := []any{}
	for _, subject := range []string{"scoped", "reader", "builder"} {
		callers = append(callers, map[string]any{"subject": subject, "kind": "user", "scopes": []string{"call"}, "token_env": "E2E_" + strings.ToUpper(subject)})
	}
	g.config = writeConfig(t,
		[]server{entry("docs", g.docs.url, effects).with("budget_classes", map[string]string{"echo": "searches"}), entry("mail", g.mail.url, effects)},
		[]rule{allow("mcp.docs.host.127.0.0.1"), allow("mcp.docs.tool.*"), allow("mcp.mail.host.127.0.0.1"), allow("mcp.mail.tool.*")},
		map[string]any{
			"callers": callers,

			"explain_refusals": false, // as where agents are not their operator's own
			"agents":           []any{map[string]any{"subject": "scoped", "servers": []string{"docs"}}, map[string]any{"subject": "reader", "access": "read"}},
			"budgets":          map[string]any{"searches": map[string]any{"per_minute": 3}},
			"policies":         []any{map[string]any{"name": "no-secrets", "file": "no-secrets.rego"}, map[string]any{"name": "wanderer", "source": wanderer, "mode": "audit"}},
		})
	if err := os.WriteFile(filepath.Join(filepath.Dir(g.config), "no-secrets.rego"), []byte(noSecrets), 0o600); err != nil {
		t.Fatal(err)
	}
	return g
}

// tokenOf is the token of a caller of the file.
func tokenOf(subject string) string { return "e2e-token-of-" + subject + "-0123456789abcdef" }

func (g governed) serve(t *testing.T) *process {
	t.Helper()
	var env []string
	for _, subject := range []string{"scoped", "reader", "builder"} {
		env = append(env, "E2E_"+strings.ToUpper(subject)+"="+tokenOf(subject))
	}
	return serve(t, env, "--config", g.config, "--data", g.data, "--allow-loopback")
}

// as makes one request of a caller; the path says whether it is a call.
func (p *process) as(t *testing.T, subject, method, path, body string, headers ...string) reply {
	t.Helper()
	return p.do(t, method, path, body, append([]string{"Authorization", "Bearer " + tokenOf(subject), "Content-Type", "application/json"}, headers...)...)
}

// calls calls a tool of docs, or of another server where its name says so.
func (p *process) calls(t *testing.T, subject, tool, arguments string, headers ...string) reply {
	t.Helper()
	server := "docs"
	if before, after, ok := strings.Cut(tool, "/"); ok {
		server, tool = before, after
	}
	return p.as(t, subject, http.MethodPost, "/v1/servers/"+server+"/tools/"+tool, `{"arguments":`+arguments+`}`, headers...)
}

// shown are the names that a caller finds in a list.
func (p *process) shown(t *testing.T, subject, path, member string) []string {
	t.Helper()
	r := p.as(t, subject, http.MethodGet, path, "")
	var lists map[string]json.RawMessage
	if err := json.Unmarshal(r.body, &lists); err != nil || r.status != 200 {
		t.Fatalf("%s: %d %s", path, r.status, r.body)
	}
	var items []struct{ Name string }
	if err := json.Unmarshal(lists[member], &items); err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(items))
	for _, item := range items {
		names = append(names, item.Name)
	}
	return names
}

func wantNames(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// wantRecord compares the newest record of the trail.
func (g governed) wantRecord(t *testing.T, agent string, policy call.PolicyVerdict, decision call.Verdict, reason call.Reason) audit.Record {
	t.Helper()
	r := last(t, g.data)
	if r.Agent != agent || r.Policy != policy || r.Decision != decision || r.Reason != reason {
		t.Errorf("record of %s: policy %s, decision %s, reason %s, %q; want %s: %s, %s, %s", r.Agent, r.Policy, r.Decision, r.Reason, r.Reasons, agent, policy, decision, reason)
	}
	return r
}

func wantAnswered(t *testing.T, r reply) {
	t.Helper()
	if r.status != http.StatusOK || !strings.Contains(string(r.body), `"outcome":"answered"`) {
		t.Errorf("got %d %s, want an answer", r.status, r.body)
	}
}

func TestAnAgentOfOneServerFindsNoOther(t *testing.T) {
	g := newGoverned(t)
	relay := g.serve(t)
	wantAnswered(t, relay.calls(t, "scoped", "look", `{}`))
	g.wantRecord(t, "scoped", call.PolicyAllow, call.Allow, call.OK)
	checkProblem(t, relay.calls(t, "scoped", "mail/look", `{}`), 404, call.NotOffered)
	g.wantRecord(t, "scoped", call.PolicyNotRun, call.Deny, call.OutOfScope)
	wantNames(t, "servers of scoped", relay.shown(t, "scoped", "/v1/servers", "servers"), "docs")
	wantNames(t, "servers of builder", relay.shown(t, "builder", "/v1/servers", "servers"), "docs", "mail")
	list := string(relay.as(t, "scoped", http.MethodPost, "/v1/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).body)
	if !strings.Contains(list, `"docs__look"`) || strings.Contains(list, "mail") {
		t.Errorf("the tools of one server are %s", list)
	}
	r := relay.as(t, "scoped", http.MethodPost, "/v1/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mail__look","arguments":{}}}`)
	checkRPCError(t, r, 200, "1", call.NotOffered)
	if n := g.mail.calls.Load(); n != 0 {
		t.Errorf("the other server saw %d calls", n)
	}
}

func TestAReadOnlyAgentCallsWhatReads(t *testing.T) {
	g := newGoverned(t)
	relay := g.serve(t)
	wantAnswered(t, relay.calls(t, "reader", "look", `{}`))
	for _, tool := range []string{"write", "other"} { // the second nobody classified
		checkProblem(t, relay.calls(t, "reader", tool, `{"text":"t"}`), 404, call.NotOffered)
		g.wantRecord(t, "reader", call.PolicyNotRun, call.Deny, call.AccessRead)
	}
	wantNames(t, "tools of reader", relay.shown(t, "reader", "/v1/servers/docs/tools", "tools"), "echo", "look")
	wantAnswered(t, relay.calls(t, "builder", "write", `{"text":"t"}`))
	if n := g.docs.calls.Load(); n != 2 {
		t.Errorf("the server saw %d calls, want 2", n)
	}
}

func TestPoliciesRefuseOrOnlyRemark(t *testing.T) {
	g := newGoverned(t)
	relay := g.serve(t)
	wantAnswered(t, relay.calls(t, "builder", "write", `{"text":"plain"}`))
	g.wantRecord(t, "builder", call.PolicyAllow, call.Allow, call.OK)

	checkProblem(t, relay.calls(t, "builder", "write", `{"text":"a secret"}`), 403, call.DeniedByPolicy)
	r := g.wantRecord(t, "builder", call.PolicyDeny, call.Deny, call.DeniedByPolicy)
	if !slices.Contains(r.Reasons, "policy: no secret is written") || r.Posts != 0 || r.Effect != call.ImpactNone {
		t.Errorf("the record of what was refused: %q, %d posts", r.Reasons, r.Posts)
	}
	if n := g.docs.calls.Load(); n != 1 {
		t.Errorf("the server saw %d calls, want 1", n)
	}

	wantAnswered(t, relay.calls(t, "builder", "other", `{}`))
	r = g.wantRecord(t, "builder", call.PolicyDeny, call.Allow, call.OK)
	if !slices.Contains(r.Reasons, "audited policy: builder strays") {
		t.Errorf("the record of what was remarked: %q", r.Reasons)
	}
}

// Each round has a data folder of its own: one that a minute's end falls into
// has two windows, and is followed by another.
func TestABudgetHoldsOverTwoProcesses(t *testing.T) {
	for range 3 {
		g := newGoverned(t)
		relays := []*process{g.serve(t), g.serve(t)}
		began := time.Now().Truncate(time.Minute)
		replies := g.race(t, relays, 16)
		whole := time.Now().Truncate(time.Minute).Equal(began)
		answered := 0
		for _, r := range replies {
			if r.status == http.StatusOK {
				answered++
				continue
			}
			checkProblem(t, r, http.StatusTooManyRequests, call.OverBudget)
			if r.header.Get("Retry-After") == "" {
				t.Error("nobody says when the next call can be made")
			}
		}
		g.wantSpent(t, answered, len(replies))
		if answered > 6 || whole && answered != 3 {
			t.Fatalf("%d calls were made, of a budget of 3 a minute", answered)
		}
		if whole {
			return
		}
	}
	t.Error("no round was over within a minute")
}

// race has n calls of one class made at once, by all processes in turn.
func (g governed) race(t *testing.T, relays []*process, n int) []reply {
	t.Helper()
	replies := make([]reply, n)
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { replies[i] = relays[i%len(relays)].calls(t, "builder", "echo", `{}`) })
	}
	calls.Wait()
	return replies
}

// wantSpent compares the trail, and what the server saw, with the replies.
func (g governed) wantSpent(t *testing.T, answered, all int) {
	t.Helper()
	outcomes := map[call.Reason]int{}
	for _, r := range trail(t, g.data, "--tool", "echo", "--limit", "1000") {
		outcomes[r.Reason]++
		if r.BudgetClass != "searches" {
			t.Errorf("a record of the class %q", r.BudgetClass)
		}
	}
	if outcomes[call.OK] != answered || outcomes[call.OverBudget] != all-answered || int(g.docs.calls.Load()) != answered {
		t.Errorf("the trail has %v, the server saw %d calls; %d of %d were answered", outcomes, g.docs.calls.Load(), answered, all)
	}
}
