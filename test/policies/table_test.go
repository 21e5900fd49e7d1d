package policies_test

import (
	"bufio"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"mcprelay/shared/call"
	"mcprelay/shared/policy"
)

// agent is a caller and what configuration says of it.
type agent struct {
	subject string
	kind    string
	scopes  []string
	policy.Caller
}

// world is what the questions of a table are about.
type world struct {
	agents    map[string]agent
	effects   map[string]call.Effect
	rules     map[string][]policy.Rule
	questions []string
}

func readWorld(t *testing.T) world {
	t.Helper()
	f, err := os.Open("testdata/decisions.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := world{agents: make(map[string]agent), effects: make(map[string]call.Effect), rules: map[string][]policy.Rule{"empty": nil}}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(strings.ReplaceAll(lines.Text(), " -", " "))
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "?":
			w.questions = append(w.questions, lines.Text())
		case words[0] == "agent":
			a := agent{subject: words[1], kind: words[2], scopes: strings.Split(words[3], ",")}
			a.Servers = map[string][]string{"all": nil, "none": {}}[words[4]]
			if words[4] != "all" && words[4] != "none" {
				a.Servers = strings.Split(words[4], ",")
			}
			if len(words) > 5 {
				a.Access = policy.Access(words[5])
			}
			w.agents[a.subject] = a
		case words[0] == "tool":
			w.effects[words[1]] = call.Effect(strings.Join(words[2:], ""))
		case words[0] == "rules":
			w.rules[words[1]] = append(w.rules[words[1]], policy.Rule{Decision: policy.Word(words[2]), Action: words[3]})
		default:
			t.Fatalf("unreadable line %q", lines.Text())
		}
	}
	return w
}

// asked is one question, answered in the order of the pipeline.
type asked struct {
	agent  agent
	rules  policy.Rules
	engine *policy.Engine
	open   bool // on_policy_error: allow
	server string
	tool   string
	effect call.Effect
	params string
}

// answer is the reason, the rule that decided and what the policies said.
func (a asked) answer(t *testing.T) (reason call.Reason, rule string, verdict call.PolicyVerdict) {
	target := policy.Target{Server: a.server, ReversedHost: "com.example." + a.server, Tool: a.tool, Effect: a.effect}
	if refusal := a.agent.Scoped(a.server); refusal != nil {
		return refusal.Reason, "", call.PolicyNotRun
	}
	d, refusal := policy.Decide(a.rules, call.OperationToolsCall, target)
	if refusal != nil {
		return refusal.Reason, d.Rule, d.Policy
	}
	if refusal := a.agent.Permits(call.OperationToolsCall, target); refusal != nil {
		return refusal.Reason, d.Rule, d.Policy
	}
	o := a.engine.Evaluate(t.Context(), policy.Input{
		Subject: a.agent.subject, Kind: a.agent.kind, Scopes: a.agent.scopes, Backend: a.server, Tool: a.tool,
		Method: string(call.OperationToolsCall), Params: []byte(a.params), Effect: a.effect,
	})
	if refusal := o.Refusal(a.open); refusal != nil {
		return refusal.Reason, d.Rule, o.Verdict
	}
	return call.OK, d.Rule, o.Verdict
}

func compile(t *testing.T, rules []policy.Rule) policy.Rules {
	t.Helper()
	r, err := policy.Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// modes are the engines of the table.
func modes(t *testing.T) map[string]*policy.Engine {
	failing := engine(t, policy.Source{Name: "failing", Text: "package chalk.policy\n\ndeny contains 5"})
	return map[string]*policy.Engine{
		"none":    nil,
		"enforce": engine(t, example(t, "people-only", false), example(t, "write-scope", false)),
		"audit":   engine(t, example(t, "people-only", true), example(t, "write-scope", true)),
		"failing": failing,
		"lenient": failing,
	}
}

func TestWhoMayCallWhat(t *testing.T) {
	w, engines := readWorld(t), modes(t)
	if len(w.questions) < 200 {
		t.Fatalf("only %d questions were read", len(w.questions))
	}
	synctest.Test(t, func(t *testing.T) {
		for _, line := range w.questions {
			// ? subject server tool rules mode = decision rule verdict
			q := strings.Fields(line)
			if len(q) != 10 || q[6] != "=" {
				t.Fatalf("unreadable question %q", line)
			}
			one, known := w.agents[q[1]]
			rules, ruled := w.rules[q[4]]
			on, moded := engines[q[5]]
			if !known || !ruled || !moded {
				t.Fatalf("%q is about what is not there", line)
			}
			a := asked{agent: one, rules: compile(t, rules), engine: on, open: q[5] == "lenient", server: q[2], tool: q[3], effect: w.effects[q[3]]}
			reason, rule, verdict := a.answer(t)
			got := strings.Join([]string{map[bool]string{true: "allow", false: string(reason)}[reason == call.OK], rule, string(verdict)}, " ")
			if want := strings.Join(q[7:], " "); strings.Replace(want, " - ", "  ", 1) != got {
				t.Errorf("%s: got %s", line, got)
			}
		}
	})
}
