// Package sessions_test lets real processes of the relay open one upstream
// session at the same time, over each store that processes share.
//
// It promises that they truly meet: the server answers the first of them when
// the last has asked. It refuses to trust what the relay says of itself: the
// server counts.
package sessions_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/session"
	"mcprelay/shared/store/dynamo"
	"mcprelay/shared/store/local"
)

const (
	// processes is how many open the session at once: more than a busy
	// function has in its first second.
	processes = 64
	// later is how many call once it is open.
	later = 8
)

// store is what is asked after all processes have ended.
type store interface {
	SessionsExpired(ctx context.Context, before time.Time, limit int) ([]session.Entry, error)
	Audit(ctx context.Context, f audit.Filter) ([]audit.Record, string, error)
}

// sharing is one store and the program that calls over it.
type sharing struct {
	program func(t *testing.T) string
	args    func(config string) []string
	store   func(t *testing.T) store
	drop    func(t *testing.T) // takes the store of sessions away
}

func TestProcessesThatOpenOneSessionAtOnceShareIt(t *testing.T) {
	for name, share := range map[string]func(t *testing.T) sharing{"SQLite": overSQLite, "DynamoDB": overDynamoDB} {
		t.Run(name, func(t *testing.T) {
			with := share(t)
			u := startUpstream(t, processes)
			config := writeConfig(t, u.url)
			program := with.program(t)
			run(t, program, with.args(config), 0, processes)
			want := tally{opened: processes, ended: processes - 1, live: 1, calls: processes, distinct: processes}
			wantTally(t, "at once", u, want)
			run(t, program, with.args(config), processes, later)
			want.calls, want.distinct = processes+later, processes+later
			wantTally(t, "once it is open", u, want)
			s := with.store(t)
			wantStored(t, s, u)
			wantTrail(t, s, map[string]int{"new 1": 1, "reused 1": processes + later - 1})

			// The server loses the session, and all meet again (SECURITY 5.3, row 42).
			u.lose()
			run(t, program, with.args(config), processes+later, processes)
			want.calls, want.distinct = 2*processes+later, 2*processes+later
			want.opened, want.ended, want.lost = 2*processes, 2*(processes-1), processes
			wantTally(t, "once it is lost", u, want)
			wantStored(t, s, u)
			wantTrail(t, s, map[string]int{"new 1": 1, "reused 1": processes + later - 1, "renewed 2": 1, "reused 2": processes - 1})
		})
	}
}

// Neither reading nor keeping a session is worth a call (SECURITY 5.3, row 43).
func TestACallIsAnsweredWithoutTheStoreOfSessions(t *testing.T) {
	with := overDynamoDB(t)
	with.drop(t)
	u := startUpstream(t, 1)
	run(t, with.program(t), with.args(writeConfig(t, u.url)), 0, 1)
	wantTally(t, "without a store", u, tally{opened: 1, live: 1, calls: 1, distinct: 1})
	wantTrail(t, with.store(t), map[string]int{"unsaved 1": 1})
}

// wantTally stops where the server saw something else.
func wantTally(t *testing.T, when string, u *upstream, want tally) {
	t.Helper()
	if got := u.tally(); got != want {
		t.Fatalf("%s: the server saw %+v, want %+v", when, got, want)
	}
}

// wantStored wants one session in the store, the one that the server holds.
func wantStored(t *testing.T, s store, u *upstream) {
	t.Helper()
	entries, err := s.SessionsExpired(t.Context(), time.Now().Add(2*session.Lifetime), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Fatalf("%d sessions are stored, want 1", len(entries))
	}
	state := entries[0].State
	if left := u.survivors(); len(left) != 1 || state.SessionID != left[0] {
		t.Errorf("the session %s is stored, the server holds %v", state.SessionID, left)
	}
	if o := state.Owner; o.Tenant != "acme" || o.Server != "up" || o.Subject != "local" {
		t.Errorf("the session is of %+v, want one of local at up", o)
	}
}

// wantTrail wants every call answered, each on record with how it came by its
// session and how often it was sent.
func wantTrail(t *testing.T, s store, want map[string]int) {
	t.Helper()
	records, _, err := s.Audit(t.Context(), audit.Filter{Tenant: "acme", Since: time.Now().Add(-time.Hour), Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, r := range records {
		if r.State != audit.StateFinal || r.Outcome != call.Answered {
			t.Errorf("call %s is recorded as %s %s", r.CallID, r.State, r.Outcome)
		}
		got[fmt.Sprint(r.Session, " ", r.Posts)]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sessions and posts of calls (-want +got):\n%s", diff)
	}
}

func overSQLite(t *testing.T) sharing {
	data := t.TempDir()
	return sharing{
		program: func(t *testing.T) string { return build(t, "mcprelay/cmd/relay") },
		args: func(config string) []string {
			return []string{"call", "--config", config, "--data", data, "--allow-loopback"}
		},
		store: func(t *testing.T) store {
			s, err := local.Open(data)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s
		},
	}
}

func overDynamoDB(t *testing.T) sharing {
	url, prefix, db := makeTables(t)
	return sharing{
		program: func(t *testing.T) string { return build(t, "mcprelay/test/sessions/opener") },
		args: func(config string) []string {
			return []string{"-config", config, "-dynamodb", url, "-prefix", prefix}
		},
		store: func(*testing.T) store {
			return dynamo.New(dynamo.Config{DynamoDB: db, State: prefix + dynamo.State, Audit: prefix + dynamo.Audit})
		},
		drop: func(t *testing.T) {
			name := prefix + dynamo.State
			if _, err := db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "mcprelay-sessions-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	buildDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}
