// Package kit is a relay in front of one upstream that a test scripts: real
// sockets, a real exchange, and a recorder in memory that can be made to fail.
//
// It promises that what reaches the upstream is counted there. It refuses to
// stand in for the stores: their own contract suite does that.
package kit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcprelay/shared/app"
	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/config"
	"mcprelay/shared/egress"
	"mcprelay/shared/exchange"
	"mcprelay/shared/registry"
	"mcprelay/shared/relay"
	"mcprelay/shared/secret"
)

// Recorder keeps what it was given, and fails where told to.
type Recorder struct {
	mu                    sync.Mutex
	intents, finals       []audit.Record
	own                   []audit.Record // finals of the relay's own acquisitions
	FailIntent, FailFinal bool
	PanicIntent           any // what Intent panics with
}

// Intent keeps a record, or fails.
func (r *Recorder) Intent(_ context.Context, record audit.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.PanicIntent != nil {
		panic(r.PanicIntent)
	}
	if r.FailIntent {
		return errors.New("the store is down")
	}
	r.intents = append(r.intents, record)
	return nil
}

// Final keeps a record, or fails.
func (r *Recorder) Final(_ context.Context, record audit.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.FailFinal {
		return errors.New("the store is down")
	}
	if record.Face == call.FaceInternal {
		r.own = append(r.own, record)
		return nil
	}
	r.finals = append(r.finals, record)
	return nil
}

// Own are the finals of what the relay did by itself: acquisitions that a call
// needed, sessions that it closed.
func (r *Recorder) Own() []audit.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.own)
}

// Written counts the records.
func (r *Recorder) Written() (intents, finals int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.intents), len(r.finals)
}

// Only is the one final that was written.
func (r *Recorder) Only(t *testing.T) audit.Record {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.finals) != 1 {
		t.Fatalf("got %d finals, want 1", len(r.finals))
	}
	return r.finals[0]
}

// Relay is a relay in front of one upstream that the test scripts.
type Relay struct {
	*relay.Relay
	Recorder *Recorder
	Registry Registry
	Catalogs Catalogs
	Sessions Sessions
	Turns    Turns
	Counters Counters
	Log      *Buffer
	Posts    atomic.Int64 // tools/call POSTs that the upstream saw
	Requests atomic.Int64 // of any kind
	// Secrets gives the credential's value and version; an empty value is a
	// secret that is not set.
	Secrets func() (value, version string)
	// Answer is the upstream's part for all but server/discover and tools/list.
	Answer Answer
	// Deletes is its part for DELETE; nil accepts.
	Deletes http.HandlerFunc
	// Lists is its part for tools/list.
	Lists Answer
	// Capabilities are the members of what the upstream announces.
	Capabilities string
	// Legacy makes the upstream know nothing of server/discover.
	Legacy bool
}

// Answer answers one request whose body's members are given as they came.
type Answer func(w http.ResponseWriter, r *http.Request, body map[string]json.RawMessage)

// Buffer is a log that may be read while it is written.
type Buffer struct {
	mu sync.Mutex
	b  strings.Builder
}

// Write appends.
func (l *Buffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String is everything written so far.
func (l *Buffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Registry gives one tenant, or an error.
type Registry struct {
	Registration *registry.Tenant
	Err          error
}

// Tenant gives the tenant, whoever asks.
func (f *Registry) Tenant(context.Context, string) (*registry.Tenant, error) {
	return f.Registration, f.Err
}

const fixtureConfig = `{"tenant":"acme","servers":[{"name":"up","config":{
 "endpoint":%q,"auth":{"type":"bearer","token_ref":"up-ref"},
 "effects":{"look":"read","change":"write"}%s},"secrets":{"up-ref":"UP_TOKEN"}}],
 "rules":[{"action":"mcp.up.host.127.0.0.1","decision":"allow"},{"action":"mcp.up.tool.*","decision":"allow"},
 {"action":"mcp.up.tool.never","decision":"deny"},{"action":"secret.use.up-ref","decision":"allow"}]%s}`

// New starts an upstream and a relay in front of it. serverKeys and
// fileKeys are added to the config, each with a leading comma.
func New(t *testing.T, serverKeys, fileKeys string) *Relay {
	t.Helper()
	f := &Relay{Recorder: &Recorder{}, Log: &Buffer{}}
	f.Secrets = func() (string, string) { return "token-one-12345678", "v1" }
	f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		Result(w, body, `{"resultType":"complete","content":[]}`)
	}
	f.Lists = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		Result(w, body, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"change","inputSchema":{"type":"object"}},{"name":"look","inputSchema":{"type":"object"}},{"name":"unclassified","inputSchema":{"type":"object"}}]}`)
	}
	upstream := httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(upstream.Close)
	text := fmt.Sprintf(fixtureConfig, upstream.URL+"/mcp", serverKeys, fileKeys)
	c, err := config.Parse("test", []byte(text), config.Options{Loopback: true})
	if err != nil {
		t.Fatal(err)
	}
	guard := egress.New(egress.Config{Loopback: true, Now: time.Now})
	t.Cleanup(func() { guard.Close() })
	read := func(context.Context, string, secret.Source) (secret.Value, error) {
		value, version := f.Secrets()
		if value == "" {
			return secret.Value{}, secret.ErrNotFound
		}
		return secret.NewValue([]byte(value), version), nil
	}
	f.Registry = Registry{Registration: c.Tenant}
	lines := audit.NewLog(f.Log, 0)
	f.Relay = relay.New(relay.Config{
		Registry: &f.Registry, Secrets: secret.NewCache(read, time.Now), Guard: guard,
		Exchange: exchange.New(exchange.Config{Guard: guard, Sessions: &f.Sessions, Now: time.Now, Name: "test", Version: "1"}),
		Sessions: &f.Sessions, Open: &f.Sessions, Catalogs: &f.Catalogs, NewID: app.NewID,
		Turns: &f.Turns, Counters: &f.Counters,
		Recorder: f.Recorder, Lines: lines, Log: slog.New(slog.NewJSONHandler(lines, nil)), Now: time.Now,
	})
	return f
}

func (f *Relay) serve(w http.ResponseWriter, r *http.Request) {
	f.Requests.Add(1)
	if r.Method == http.MethodDelete {
		if f.Deletes != nil {
			f.Deletes(w, r)
		}
		return
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(text, &body); err != nil {
		http.Error(w, "bad", http.StatusBadRequest)
		return
	}
	if string(body["method"]) == `"server/discover"` && f.Legacy {
		http.Error(w, "unknown", http.StatusNotFound)
		return
	}
	if string(body["method"]) == `"server/discover"` {
		Result(w, body, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{`+f.Capabilities+`},"ttlMs":0,"cacheScope":"private"}`)
		return
	}
	if string(body["method"]) == `"tools/call"` {
		f.Posts.Add(1)
	}
	if string(body["method"]) == `"tools/list"` {
		f.Lists(w, r, body)
		return
	}
	f.Answer(w, r, body)
}

// Warm lets the relay learn what the upstream offers, and forgets the records
// of it: what follows is a warm call.
func (f *Relay) Warm(t *testing.T) {
	t.Helper()
	answer, refusal := f.Acquire(t.Context(), Call("look"))
	if answer.Settle(); refusal != nil {
		t.Fatal(refusal)
	}
	f.Recorder.mu.Lock()
	f.Recorder.intents, f.Recorder.finals = nil, nil
	f.Recorder.mu.Unlock()
	f.Log.mu.Lock()
	f.Log.b.Reset()
	f.Log.mu.Unlock()
	f.Requests.Store(0)
}

// Result answers with a JSON-RPC result.
func Result(w http.ResponseWriter, body map[string]json.RawMessage, text string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, body["id"], text)
}

// Call is a call of tool by agent ci.
func Call(tool string) call.Call {
	return call.Call{
		ID: "01JDXAMPLE0000000000000000", At: time.Now(), Face: call.FaceMCP,
		Principal: call.Principal{Tenant: "acme", Subject: "ci", Kind: call.KindUser, Scopes: []call.Scope{call.ScopeCall}},
		Operation: call.OperationToolsCall, Server: "up", Tool: tool, Arguments: json.RawMessage(`{"n":1}`),
	}
}

// Do makes one call and settles it.
func (f *Relay) Do(ctx context.Context, c call.Call) (relay.Answer, *call.Refusal) {
	answer, refusal := f.Run(ctx, c)
	answer.Settle()
	return answer, refusal
}

// WantReason fails unless the call was refused for the given reason.
func WantReason(t *testing.T, refusal *call.Refusal, want call.Reason) {
	t.Helper()
	if refusal == nil || refusal.Reason != want {
		t.Fatalf("got %v, want refusal %s", refusal, want)
	}
}
