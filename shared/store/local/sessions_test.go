package local_test

import (
	"strings"
	"testing"
	"time"

	"mcprelay/shared/session"
	"mcprelay/shared/store/local"
)

// ownedUntil is an expired session that somebody can close.
func ownedUntil(at time.Time) session.State {
	state := expired(at)
	state.Owner = session.Owner{Tenant: "acme", Server: "docs", Subject: "ci", Kind: "user", Run: "run-1"}
	return state
}

// What must still be closed outlives its expiry, for the grace and no longer.
func TestSessionsToCloseAreDeletedAfterTheGraceOnly(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	now := time.Now()
	verdict := expired(now.Add(-time.Minute))
	verdict.SessionID = ""
	for key, state := range map[session.Key]session.State{
		"S#to-close": ownedUntil(now.Add(-session.ClosingGrace + time.Minute)),
		"S#too-late": ownedUntil(now.Add(-session.ClosingGrace - time.Minute)),
		"O#verdict":  verdict,
		"S#live":     ownedUntil(now.Add(time.Hour)),
	} {
		if _, err := s.Save(t.Context(), key, state); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	cleaned(t, s)
	var got string
	if err := raw(t, dir).QueryRowContext(t.Context(), "SELECT group_concat(key, ' ' ORDER BY key) FROM state").Scan(&got); err != nil {
		t.Fatal(err)
	}
	if want := "S#live S#to-close"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Both questions are asked every few minutes or at every end of a run: they
// must not read a table of live sessions.
func TestSessionsToCloseAreFoundByAnIndex(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	conn := raw(t, dir)
	for query, index := range map[string]string{local.ClosesOfRun: "state_run", local.ClosesExpired: "state_closes"} {
		var id, parent, unused int
		var plan string
		if err := conn.QueryRowContext(t.Context(), "EXPLAIN QUERY PLAN "+query, "x", 1, 1).Scan(&id, &parent, &unused, &plan); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(plan, index) {
			t.Errorf("%s: got plan %q, want the index %s", query, plan, index)
		}
	}
}
