package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
)

// changedBench is a bench whose tool is held back, and how `status --json` shows it.
func changedBench(t *testing.T) (*bench, status) {
	t.Helper()
	b := newBench(t)
	if s := b.status(t, 1000, "up"); s.Tools != 1 || s.Held != nil {
		t.Fatalf("at first: %+v", s)
	}
	b.wording.Store("Looks\x1b[31m elsewhere.\u202e")
	s := b.status(t, 2000, "up")
	if s.Tools != 0 || len(s.Held) != 1 {
		t.Fatalf("changed: %+v", s)
	}
	return b, s
}

func TestStatusShowsWhatAnApprovalWouldApprove(t *testing.T) {
	b, s := changedBench(t)
	held := s.Held[0]
	want := heldTool{Tool: "look", Why: "changed", Digest: held.Digest, Approved: held.Approved, Description: `Looks\x1b[31m elsewhere.\u202e`, Descriptor: held.Descriptor}
	if diff := cmp.Diff(want, held); diff != "" || len(held.Digest) != 64 || len(held.Approved) != 64 || len(s.Digest) != 64 || held.Digest == held.Approved {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var descriptor struct{ Description string }
	if err := json.Unmarshal(held.Descriptor, &descriptor); err != nil || descriptor.Description != b.wording.Load() {
		t.Errorf("the descriptor says %q, %v", descriptor.Description, err)
	}
	text, err := b.run(t, 2000, "status")
	for _, line := range []string{
		"up: tool look is changed, digest " + held.Digest[:12] + "\n",
		`  now:      Looks\x1b[31m elsewhere.\u202e` + "\n",
		"  approved: digest " + held.Approved[:12] + " (its text is not kept)\n",
		"  relay servers approve up look@" + held.Digest + "\n",
		"relay servers approve up @" + s.Digest + "\n",
	} {
		if err != nil || !strings.Contains(text, line) {
			t.Errorf("%v, no line %q in %s", err, line, text)
		}
	}
	if asJSON, _ := b.run(t, 2000, "status", "--json"); strings.ContainsAny(text+asJSON, "\x1b\u202e") {
		t.Errorf("a terminal would act on %q or %q", text, asJSON)
	}
}

func TestAChangedToolIsHeldUntilItIsApproved(t *testing.T) {
	for name, arguments := range map[string]func(status) []string{
		"by its digest":       func(s status) []string { return []string{"look@" + s.Held[0].Digest[:12]} },
		"all, by one digest":  func(s status) []string { return []string{"@" + s.Digest} },
		"by its name":         func(status) []string { return []string{"look"} },
		"all, without digest": func(status) []string { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			b, s := changedBench(t)
			args, before := arguments(s), b.requests.Load()
			want := "relay: look of up is approved with digest " + s.Held[0].Digest[:12] + "\n"
			if !strings.Contains(strings.Join(args, ""), "@") {
				want += "relay: warning: 1 approved as last read, since no digest said which description was meant\n"
			}
			out, err := b.run(t, 2000, append([]string{"approve", "up"}, args...)...)
			if err != nil || out != want || b.requests.Load() != before {
				t.Errorf("approving: %v, got %q, want %q", err, out, want)
			}
			if s := b.status(t, 2000, "up"); s.Tools != 1 || s.Held != nil {
				t.Errorf("approved: %+v", s)
			}
			if out, err := b.run(t, 2000, "approve", "up"); err != nil || out != "relay: no tool of up waits for approval\n" {
				t.Errorf("again: %v, %q", err, out)
			}
		})
	}
}

// trail is what `relay audit` has of approvals.
func (b *bench) trail(t *testing.T) (records []audit.Record, table string) {
	t.Helper()
	data := filepath.Join(b.dir, "data")
	lines, _, err := execute(t, "audit", "--json", "--server", "up", "--data", data)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(lines) {
		var r audit.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Operation == call.OperationApprove {
			records = append(records, r)
		}
	}
	if table, _, err = execute(t, "audit", "--data", data); err != nil {
		t.Fatal(err)
	}
	return records, table
}

func TestAnApprovalIsInTheTrail(t *testing.T) {
	b, s := changedBench(t)
	if _, err := b.run(t, 2000, "approve", "up", "look"); err != nil {
		t.Fatal(err)
	}
	records, table := b.trail(t)
	if len(records) != 1 || !strings.Contains(table, "  approve  ") {
		t.Fatalf("got %+v and %s", records, table)
	}
	r, held := records[0], s.Held[0]
	if r.Agent != "local" || r.Face != call.FaceInternal || r.Policy != call.PolicyNotRun || r.Outcome != call.Answered || r.State != audit.StateFinal ||
		r.Detail != "tools "+s.Digest+`: "look" from `+held.Approved[:12]+" to "+held.Digest[:12] {
		t.Errorf("got %+v", r)
	}
}

func TestADescriptionThatChangedSinceItWasSeenIsNotApproved(t *testing.T) {
	b, seen := changedBench(t)
	b.wording.Store("Looks at your keys.")
	b.status(t, 3000, "up") // reads it
	for _, arg := range []string{"look@" + seen.Held[0].Digest, "@" + seen.Digest} {
		out, err := b.run(t, 3000, "approve", "up", arg)
		if err == nil || out != "" || !strings.Contains(err.Error(), "it changed since") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, %q", arg, err, out)
		}
	}
	if s := b.status(t, 3000, "up"); len(s.Held) != 1 {
		t.Errorf("it is approved: %+v", s)
	}
	if records, _ := b.trail(t); len(records) != 2 || records[0].Reason != call.ToolHeld {
		t.Errorf("got %+v, want a record of each refusal", records)
	}
}

func TestANameIsCopiedAsAShellTakesIt(t *testing.T) {
	for name, want := range map[string]string{
		"look@0a": "look@0a", "a/b.c:d-e_f": "a/b.c:d-e_f", "two words": "'two words'", "$(reboot)": "'$(reboot)'",
		"it's": `'it'\''s'`, "`x`;|&": "'`x`;|&'", "büro": "'büro'", "--data=x": "", "a\u202eb": "",
	} {
		if got, ok := shellWord(name); got != want || ok != (want != "") {
			t.Errorf("%q: got %s, %v, want %s", name, got, ok, want)
		}
	}
}
