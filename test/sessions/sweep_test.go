package sessions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/session"
	"mcprelay/shared/store/dynamo"
	"mcprelay/test/netns"
	"mcprelay/test/peers"
	"mcprelay/test/registration"
	"mcprelay/test/runtimeapi"
)

// Where the function finds its upstreams: a private network that the
// registration allows, since its guard cannot be opened by configuration.
const (
	privateAddress = "10.77.0.2"
	hostsFile      = "127.0.0.1 localhost loop.example.com\n" + privateAddress + " up.example.com\n"
	registered     = `{
		"tenant": "acme",
		"servers": [
			{"name": "up", "allowed_networks": ["10.77.0.0/24"], "config": {"endpoint": "https://up.example.com/mcp", "auth": {"type": "none"}}},
			{"name": "moved", "allowed_networks": ["10.77.0.0/24"], "config": {"endpoint": "https://up.example.com/mcp", "auth": {"type": "none"}}},
			{"name": "loop", "config": {"endpoint": "https://loop.example.com/mcp", "auth": {"type": "none"}}}
		],
		"rules": [{"action": "mcp.up.*", "decision": "allow"}, {"action": "mcp.loop.*", "decision": "allow"}, {"action": "mcp.moved.*", "decision": "allow"}]
	}`
)

// sweeping is an event of events/reconcile and what it must come to.
type sweeping struct {
	event []byte
	Reply json.RawMessage
	Ended []string // session ids that the server was asked to end
	Left  []string // session ids that stay stored
	Trail map[string]int
	Again json.RawMessage // what the same event comes to a second time
}

func readSweeping(t *testing.T, name string) (s sweeping) {
	t.Helper()
	var want []byte
	for file, into := range map[string]*[]byte{name + ".json": &s.event, name + ".want.json": &want} {
		text, err := os.ReadFile(filepath.Join("../../events/reconcile", file))
		if err != nil {
			t.Fatal(err)
		}
		*into = text
	}
	if err := json.Unmarshal(want, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTheSweepClosesWhatExpired runs functions/reconcile as Lambda does.
func TestTheSweepClosesWhatExpired(t *testing.T) {
	private := netns.Options{Addresses: []netip.Prefix{netip.MustParsePrefix(privateAddress + "/24")}, Hosts: hostsFile}
	netns.Run(t, private, func(t *testing.T) {
		t.Setenv(peers.EnvDynalite, "") // the run's own listens on another loopback
		want := readSweeping(t, "scheduled")
		u := startUpstream(t, 0)
		authority := serveTLS(t, u)
		url, prefix, db := makeTables(t)
		s := dynamo.New(dynamo.Config{
			DynamoDB: db, Registry: prefix + dynamo.Registry, State: prefix + dynamo.State, Audit: prefix + dynamo.Audit,
		})
		register(t, s)
		seed(t, s, u)
		log := &bytes.Buffer{}
		function := runtimeapi.Start(t, runtimeapi.Options{
			Bootstrap: build(t, "mcprelay/functions/reconcile"), Timeout: 2 * time.Minute, Log: log,
			Env: []string{
				"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_ENDPOINT_URL_DYNAMODB=" + url, "SSL_CERT_FILE=" + authority,
				"RELAY_REGISTRY_TABLE=" + prefix + dynamo.Registry, "RELAY_STATE_TABLE=" + prefix + dynamo.State, "RELAY_AUDIT_TABLE=" + prefix + dynamo.Audit,
			},
		})
		wantReply(t, function, want.event, want.Reply)
		wantReply(t, function, want.event, want.Again)
		if diff := cmp.Diff(want.Ended, u.closed()); diff != "" {
			t.Errorf("ended sessions (-want +got):\n%s", diff)
		}
		if got := left(t, s); !slices.Equal(got, want.Left) {
			t.Errorf("%q are stored, want %q", got, want.Left)
		}
		if diff := cmp.Diff(want.Trail, closes(t, s)); diff != "" {
			t.Errorf("trail (-want +got):\n%s", diff)
		}
		if t.Failed() {
			function.Kill()
			t.Logf("the function printed:\n%s", log)
		}
	})
}

// serveTLS puts the upstream behind TLS on the private address and gives the
// file of its authority. The certificate is httptest's, for *.example.com.
func serveTLS(t *testing.T, u *upstream) string {
	t.Helper()
	listener, err := net.Listen("tcp", privateAddress+":443")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(u)
	_ = server.Listener.Close()
	server.Listener = listener
	server.StartTLS()
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "authority.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func register(t *testing.T, s *dynamo.Store) {
	t.Helper()
	if err := registration.Put(t.Context(), s, []byte(registered)); err != nil {
		t.Fatal(err)
	}
}

// seed stores sessions, most of which the server holds as well.
func seed(t *testing.T, s *dynamo.Store, u *upstream) {
	t.Helper()
	for _, stored := range []struct {
		caller, id, server, run string
		expires                 time.Duration // from now
	}{
		{"anna", "expired", "up", "", -time.Hour},
		{"anna", "expired-of-a-run", "up", "run-1", -session.ClosingGrace + time.Hour},
		{"anna", "live", "up", "run-2", time.Hour},
		{"ben", "too-late", "up", "", -session.ClosingGrace - time.Hour},
		{"ben", "unregistered", "gone", "", -time.Hour},
		{"ben", "refused", "loop", "", -time.Hour},
		{"ben", "moved", "moved", "", -time.Hour},
		{"carla", "gave-way", "up", "", -20 * time.Minute},
		{"carla", "fresh", "up", "", time.Hour},
	} {
		u.hold(stored.id)
		now := time.Now().UTC()
		// As the relay does it; a server that was registered with an endpoint of
		// another name has another key.
		key := session.KeyOf(session.Parts{
			Tenant: "acme", Server: stored.server, Endpoint: "https://" + stored.server + ".example.com/mcp",
			Principal: string(call.KindServiceToken) + "\n" + stored.caller, Run: stored.run,
		})
		_, err := s.Save(t.Context(), key, session.State{
			Era: session.Legacy, Version: "2025-11-25", SessionID: stored.id, Opened: now, Expires: now.Add(stored.expires),
			Owner: session.Owner{Tenant: "acme", Server: stored.server, Subject: stored.caller, Kind: string(call.KindServiceToken), Run: stored.run},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func wantReply(t *testing.T, function *runtimeapi.Simulator, event []byte, want json.RawMessage) {
	t.Helper()
	reply, err := function.Invoke(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil || compact(t, body) != compact(t, want) {
		t.Errorf("got %s and %v, want %s", body, err, want)
	}
}

func compact(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b.String()
}

// left are the ids of the sessions that can still be closed.
func left(t *testing.T, s *dynamo.Store) (ids []string) {
	t.Helper()
	entries, err := s.SessionsExpired(t.Context(), time.Now().Add(2*session.Lifetime), 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		ids = append(ids, e.State.SessionID)
	}
	slices.Sort(ids)
	return ids
}

// closes counts the records of closed sessions by how they ended. Each must be
// in the name of somebody whose session it was.
func closes(t *testing.T, s *dynamo.Store) map[string]int {
	t.Helper()
	records, _, err := s.Audit(context.WithoutCancel(t.Context()), audit.Filter{Tenant: "acme", Since: time.Now().Add(-time.Hour), Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	ends := map[string]int{}
	for _, r := range records {
		if r.Operation != call.OperationClose || !slices.Contains([]string{"anna", "ben", "carla"}, r.Agent) || r.State != audit.StateFinal {
			t.Errorf("got record %+v, want the final of a close in its owner's name", r)
		}
		ends[fmt.Sprint(r.Outcome, " ", r.Reason)]++
	}
	return ends
}

// The rest of the deployment finds its events by their names.
func TestEveryEventOfTheSweepHasItsWant(t *testing.T) {
	files, err := filepath.Glob("../../events/reconcile/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no events: %v", err)
	}
	for _, file := range files {
		if name, isEvent := strings.CutSuffix(filepath.Base(file), ".json"); isEvent && !strings.HasSuffix(name, ".want") {
			if s := readSweeping(t, name); len(s.Reply) == 0 {
				t.Errorf("%s does not say what it comes to", name)
			}
		}
	}
}
