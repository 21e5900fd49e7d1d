package e2e_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"mcprelay/shared/session"
	"mcprelay/shared/store/local"
	"mcprelay/test/peers"
)

// expire ends the time of a run's sessions in a folder that no relay has open.
func expire(t *testing.T, data, run string) {
	t.Helper()
	store, err := local.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	entries, err := store.SessionsOfRun(context.Background(), session.RunKey("acme", "user", "local", run))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d sessions, %v, want 1", len(entries), err)
	}
	entries[0].State.Expires = time.Now().Add(-time.Hour)
	if _, err := store.Save(context.Background(), entries[0].Key, entries[0].State); err != nil {
		t.Fatal(err)
	}
}

// TestARelayClosesWhatExpired: when it starts, and when it stops.
func TestARelayClosesWhatExpired(t *testing.T) {
	counter := peers.Counted(t, peers.Everything(t))
	config := writeConfig(t, []server{entry("up", counter.URL, map[string]string{"echo": "read"})}, []rule{allow("mcp.up.host.127.0.0.1"), allow("mcp.up.tool.*")}, nil)
	data := t.TempDir()
	arguments := []string{"--config", config, "--data", data, "--allow-loopback"}
	relay := serve(t, nil, arguments...)
	for _, run := range []string{"one", "two"} {
		if got := relay.post(t, "/v1/servers/up/tools/echo", `{"arguments":{"message":"hi"}}`, "X-Relay-Run", run); got.status != 200 {
			t.Fatalf("run %s: %d %s", run, got.status, got.body)
		}
	}
	relay.end(t, syscall.SIGTERM)
	if counter.Deletes() != 0 {
		t.Fatalf("%d live sessions were ended with the relay", counter.Deletes())
	}
	expire(t, data, "one")
	relay = serve(t, nil, arguments...)
	relay.end(t, syscall.SIGTERM) // which waits for both looks
	if counter.Deletes() != 1 {
		t.Errorf("%d sessions were ended, want the one that expired", counter.Deletes())
	}
	records := whole(t, data, "--run", "one")
	if records[0].About != "close" || records[0].Agent != "local" || records[0].Outcome != "answered" {
		t.Errorf("record %+v, want one about close in the caller's name", records[0])
	}
}
