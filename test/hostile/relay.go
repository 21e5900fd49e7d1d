package hostile

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"mcprelay/shared/app"
	"mcprelay/shared/audit"
	"mcprelay/shared/auth"
	"mcprelay/shared/call"
	"mcprelay/shared/config"
	"mcprelay/shared/egress"
	"mcprelay/shared/exchange"
	"mcprelay/shared/front"
	"mcprelay/shared/relay"
	"mcprelay/shared/secret"
	"mcprelay/shared/store/local"
	"mcprelay/test/kit"
)

// Token is the credential that the relay sends to every server.
const Token = "upstream-credential-4f1c9a"

// reference names it in the registration.
const reference = "up-ref"

// Keys are members of the config file.
type Keys map[string]any

// Setup changes what [Relay] makes by default: one tenant, the server under
// the name "up" with a bearer credential, everything allowed, the callers "ci"
// and "other".
type Setup struct {
	Server Keys // added to the config of every server
	File   Keys // added to the file
	// More are further servers, by the name they are registered under.
	More map[string]*Server
	// Credential gives the credential and its version; nil: [Token], v1.
	Credential func() (value, version string)
	// Store is shared by the relays that use it, as processes do. Nil: one of
	// the relay's own.
	Store *local.Store
	// Tenant is the tenant's id; empty: acme.
	Tenant string
	// Lookup replaces DNS; nil: nothing has an address.
	Lookup egress.Lookup
	// Roots are trusted instead of those of [Roots].
	Roots *x509.CertPool
	// NoLoopback makes endpoints spelled as loopback illegal again, as they
	// are outside of tests.
	NoLoopback bool
	// Now is the relay's clock; nil: time.Now.
	Now func() time.Time
}

// Front is a relay in front of servers, and an agent's way to it.
type Front struct {
	// Pipeline is the relay itself, for calls that come by no HTTP.
	Pipeline *relay.Relay
	URL      string
	Log      *kit.Buffer

	tenant  string
	client  *http.Client
	records *records
	servers []*Server
}

// Relay starts a relay in front of up; it ends with the test.
func Relay(t testing.TB, up *Server, s Setup) *Front {
	t.Helper()
	s = s.withDefaults(t)
	c, err := config.Parse("test", s.file(up), config.Options{Loopback: !s.NoLoopback})
	if err != nil {
		t.Fatalf("hostile: the registration: %v", err)
	}
	guard := egress.New(egress.Config{Loopback: !s.NoLoopback, Lookup: s.Lookup, Roots: s.Roots, Now: s.Now})
	f := &Front{Log: &kit.Buffer{}, tenant: s.Tenant, records: &records{next: s.Store}, servers: []*Server{up}}
	for _, server := range s.More {
		f.servers = append(f.servers, server)
	}
	read := func(context.Context, string, secret.Source) (secret.Value, error) {
		value, version := s.Credential()
		return secret.NewValue([]byte(value), version), nil
	}
	lines := audit.NewLog(f.Log, 0)
	f.Pipeline = relay.New(relay.Config{
		Registry: app.FileRegistry{Registration: c.Tenant},
		Secrets:  secret.NewCache(read, s.Now),
		Guard:    guard,
		Exchange: exchange.New(exchange.Config{Guard: guard, Sessions: s.Store, Now: s.Now, Name: app.Name, Version: app.Version}),
		Sessions: s.Store,
		Open:     s.Store,
		Catalogs: s.Store,
		Keys:     s.Store,
		Recorder: f.records,
		NewID:    app.NewID,
		Lines:    lines,
		Log:      slog.New(slog.NewJSONHandler(lines, nil)),
		Now:      s.Now,
	})
	f.serve(t, s)
	t.Cleanup(func() {
		guard.Close()
		f.wantNoSecrets(t)
	})
	return f
}

// Open opens a store that several relays can share.
func Open(t testing.TB) *local.Store {
	t.Helper()
	store, err := local.Open(t.TempDir() + "/data")
	if err != nil {
		t.Fatalf("hostile: opening a store: %v", err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("hostile: closing the store: %v", err)
		}
	})
	return store
}

func (s Setup) withDefaults(t testing.TB) Setup {
	t.Helper()
	if s.Credential == nil {
		s.Credential = func() (string, string) { return Token, "v1" }
	}
	if s.Store == nil {
		s.Store = Open(t)
	}
	if s.Tenant == "" {
		s.Tenant = "acme"
	}
	if s.Roots == nil {
		s.Roots = Roots(t)
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.Lookup == nil {
		s.Lookup = nowhere
	}
	return s
}

// file is the text of the config file.
func (s Setup) file(up *Server) []byte {
	servers := map[string]*Server{"up": up}
	maps.Copy(servers, s.More)
	var entries []any
	for name, server := range servers {
		c := Keys{
			"endpoint": server.URL(), "auth": Keys{"type": "bearer", "token_ref": reference},
			"effects": Keys{"look": "read", "change": "write"},
		}
		maps.Copy(c, s.Server)
		entry := Keys{"name": name, "config": c, "secrets": Keys{reference: "UP_TOKEN"}}
		if networks, ok := c["allowed_networks"]; ok {
			entry["allowed_networks"] = networks
			delete(c, "allowed_networks")
		}
		entries = append(entries, entry)
	}
	to := []string{}
	for name := range servers {
		to = append(to, "mcp."+name+".*")
	}
	file := Keys{"tenant": s.Tenant, "servers": entries, "rules": []Keys{
		{"action": "mcp.*", "decision": "allow"},
		{"action": "secret.use." + reference, "decision": "allow", "to": to},
	}}
	maps.Copy(file, s.File)
	text, err := json.Marshal(file)
	if err != nil {
		return []byte(err.Error())
	}
	return text
}

// agentToken is the token of a caller.
func agentToken(subject string) string { return "agent-token-of-" + subject }

// Subjects are the callers that [Relay] knows.
func Subjects() []string { return []string{"ci", "other"} }

func (f *Front) serve(t testing.TB, s Setup) {
	t.Helper()
	var callers []auth.Caller
	for _, subject := range Subjects() {
		caller, err := auth.NewCaller(agentToken(subject), call.Principal{
			Tenant: s.Tenant, Subject: subject, Kind: call.KindUser, Scopes: []call.Scope{call.ScopeCall},
		})
		if err != nil {
			t.Fatalf("hostile: %v", err)
		}
		callers = append(callers, caller)
	}
	handler := front.New(front.Options{
		Relay: f.Pipeline, Authenticate: auth.New(auth.Options{Callers: callers, Now: s.Now}).Authenticate,
		Name: app.Name, Version: app.Version, Now: s.Now, NewID: app.NewID,
	})
	server := httptest.NewServer(handler)
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	f.URL, f.client = server.URL, &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // a redirect is an answer like others
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
}

// nowhere is a lookup without names.
func nowhere(context.Context, string) ([]netip.Addr, error) {
	return nil, fmt.Errorf("there are no names here")
}

// wantNoSecrets fails the test for a credential or a session id in what the
// relay leaves behind.
func (f *Front) wantNoSecrets(t testing.TB) {
	t.Helper()
	var text strings.Builder
	text.WriteString(f.Log.String())
	for _, record := range f.Records() {
		encoded, err := json.Marshal(record)
		if err != nil {
			t.Errorf("hostile: encoding a record: %v", err)
		}
		text.Write(append(encoded, '\n'))
	}
	f.holdsNoSecret(t, "the log or a record", text.String())
}

func (f *Front) holdsNoSecret(t testing.TB, where, text string) {
	t.Helper()
	if strings.Contains(text, Token) {
		t.Errorf("%s holds the credential", where)
	}
	for _, server := range f.servers {
		server.mu.Lock()
		for _, id := range server.opened {
			if strings.Contains(text, id) {
				t.Errorf("%s holds the session id %s", where, id)
			}
		}
		server.mu.Unlock()
	}
}

// records keeps the finals on their way to the store.
type records struct {
	next relay.Recorder
	mu   sync.Mutex
	all  []audit.Record
}

// Intent stores an intent.
func (r *records) Intent(ctx context.Context, record audit.Record) error {
	return r.next.Intent(ctx, record)
}

// Final stores a final, and keeps it where that succeeded.
func (r *records) Final(ctx context.Context, record audit.Record) error {
	if err := r.next.Final(ctx, record); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, record)
	return nil
}

// Records are the finals so far, in order: those of calls, acquisitions and
// closings alike.
func (f *Front) Records() []audit.Record {
	f.records.mu.Lock()
	defer f.records.mu.Unlock()
	return append([]audit.Record(nil), f.records.all...)
}
