package dynamo_test

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/session"
	"mcprelay/shared/store/dynamo"
)

// at is the time of the records whose items are compared.
var at = time.Date(2026, 11, 30, 23, 59, 59, 999e6, time.UTC)

// put is the item that a write sends, less the record and the mark.
func put(t *testing.T, write func(s *dynamo.Store, r audit.Record) error, r audit.Record) map[string]string {
	t.Helper()
	f := newFake(t, ok)
	if err := write(newStore(f.url, nil), r); err != nil {
		t.Fatal(err)
	}
	asked := f.asked()
	if len(asked) != 1 || asked[0].Operation != "PutItem" || asked[0].TableName != "a" {
		t.Fatalf("got %+v, want one PutItem on the audit table", asked)
	}
	flat := map[string]string{}
	for name, v := range asked[0].Item {
		for kind, text := range v {
			flat[name+":"+kind] = text
		}
	}
	if flat["record:S"] == "" || flat["w:B"] == "" {
		t.Errorf("got %v, want a record and a mark", slices.Sorted(maps.Keys(flat)))
	}
	delete(flat, "record:S")
	delete(flat, "w:B")
	return flat
}

func writeIntent(t *testing.T) func(*dynamo.Store, audit.Record) error {
	return func(s *dynamo.Store, r audit.Record) error { return s.Intent(t.Context(), r) }
}

func writeFinal(t *testing.T) func(*dynamo.Store, audit.Record) error {
	return func(s *dynamo.Store, r audit.Record) error { return s.Final(t.Context(), r) }
}

// shard is the last part of a key.
func shard(key string) string { return key[strings.LastIndex(key, "#")+1:] }

func TestItemOfARecord(t *testing.T) {
	r := recordAt(at)
	expiry := strconv.FormatInt(at.Add(dynamo.Retention).Unix(), 10)
	for _, tt := range []struct {
		name   string
		write  func(*dynamo.Store, audit.Record) error
		change func(*audit.Record)
		want   string // NAME=KEY where # stands for the shard
	}{
		{"intent", writeIntent(t), func(*audit.Record) {}, "open_pk:S=O"},
		{"allowed final", writeFinal(t), func(*audit.Record) {}, ""},
		{"denied final", writeFinal(t), func(r *audit.Record) { r.Decision = call.Deny }, "deny_pk:S=T#acme#D#2026-11"},
		{"final of an error", writeFinal(t), func(r *audit.Record) { r.Decision = call.Error }, "deny_pk:S=T#acme#D#2026-11"},
		{"undecided final", writeFinal(t), func(r *audit.Record) { r.Decision = "" }, "deny_pk:S=T#acme#D#2026-11"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := r
			tt.change(&changed)
			got := put(t, tt.write, changed)
			n := shard(got["pk:S"])
			want := map[string]string{
				"pk:S": "T#acme#2026-11-30#" + n, "sk:S": r.CallID, "exp:N": expiry,
				"agent_pk:S": "T#acme#A#ci#2026-11#" + n, "server_pk:S": "T#acme#S#docs#2026-11#" + n, "run_pk:S": "T#acme#R#run-1#" + n,
				"agent:S": "ci", "server:S": "docs", "tool:S": "search", "run:S": "run-1", "outcome:S": "answered", "state:S": "final",
			}
			if tt.name == "intent" {
				want["state:S"] = "intent"
			}
			if name, key, sparse := strings.Cut(tt.want, "="); sparse {
				want[name] = key + "#" + n
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("item (-want +got):\n%s", diff)
			}
		})
	}
}

func TestItemLeavesOutWhatARecordLacks(t *testing.T) {
	got := put(t, writeFinal(t), audit.Record{CallID: idAt(at), Tenant: "acme", Time: at, Decision: call.Allow})
	if diff := cmp.Diff([]string{"exp:N", "pk:S", "sk:S", "state:S"}, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}

// A flood of one kind must not meet in one partition, of the table or of any
// index.
func TestEveryPartitionIsSpreadOverTheShards(t *testing.T) {
	f := newFake(t, ok)
	s := newStore(f.url, nil)
	for i := range 200 {
		r := recordAt(at)
		write := s.Intent
		if i%2 == 0 {
			r.Decision, write = call.Deny, s.Final
		}
		if err := write(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	used := map[string]map[string]bool{}
	for _, r := range f.asked() {
		for name, v := range r.Item {
			if strings.HasSuffix(name, "pk") {
				if used[name] == nil {
					used[name] = map[string]bool{}
				}
				used[name][v["S"]] = true
			}
		}
	}
	for _, name := range []string{"pk", "agent_pk", "server_pk", "run_pk", "deny_pk", "open_pk"} {
		if got := len(used[name]); got != dynamo.Shards {
			t.Errorf("%s: 200 records are in %d partitions, want %d", name, got, dynamo.Shards)
		}
	}
}

func TestNamesCannotForgeAKey(t *testing.T) {
	plain := regexp.MustCompile(`^T#[^#]*#A#[^#]*#2026-11#[0-7]$`)
	keys := map[string]string{}
	for _, agent := range []string{
		"ci", "ci#2026-11", "a#b", "a%23b", "~a", "%", "Zoë", "\xff", strings.Repeat("x", 257), strings.Repeat("x", 258), strings.Repeat("#", 100), "ci ",
	} {
		r := recordAt(at)
		r.Agent = agent
		key := put(t, writeIntent(t), r)["agent_pk:S"]
		if !plain.MatchString(key) || len(key) > 400 {
			t.Errorf("agent %q: got key %q", agent, key)
		}
		key = key[:strings.LastIndex(key, "#")]
		if other, taken := keys[key]; taken {
			t.Errorf("agents %q and %q share the key %q", agent, other, key)
		}
		keys[key] = agent
	}
}

func TestStateItem(t *testing.T) {
	now := time.Unix(1_800_000_000, 5e8)
	owner := session.Owner{Tenant: "acme", Server: "docs", Subject: "ci", Kind: "service_token", Run: "run-1"}
	run := string(session.RunKey("acme", "service_token", "ci", "run-1"))
	for _, tt := range []struct {
		name   string
		change func(*session.State)
		want   map[string]string
	}{
		// 48 hours, session.ClosingGrace, later than the session expires.
		{"session of a run", func(s *session.State) { s.Owner = owner }, map[string]string{"exp": "1800176400", "run_pk": run + "#2", "close_pk": "X#2"}},
		{"session without a run", func(*session.State) {}, map[string]string{"exp": "1800176400", "close_pk": "X#2"}},
		{"no session", func(s *session.State) { s.SessionID, s.Owner = "", owner }, map[string]string{"exp": "1800003600"}},
		{"blank", func(s *session.State) { *s = session.State{Expires: now} }, map[string]string{"exp": "1800000000"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, ok)
			state := stateUntil(now.Add(time.Hour))
			tt.change(&state)
			saved, err := newStore(f.url, func() time.Time { return now }).Save(t.Context(), "S#key", state)
			if err != nil {
				t.Fatal(err)
			}
			asked := f.asked()[0]
			got := map[string]string{}
			for name, v := range asked.Item {
				if name != "body" && name != "w" {
					got[name] = v["S"] + v["N"]
				}
			}
			tt.want["pk"], tt.want["ver"] = "S#key", strconv.FormatInt(saved.Ver, 10)
			if diff := cmp.Diff(tt.want, got); diff != "" || asked.TableName != "s" {
				t.Errorf("item in table %s (-want +got):\n%s", asked.TableName, diff)
			}
		})
	}
}
