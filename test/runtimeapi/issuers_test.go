package runtimeapi_test

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/registry"
	"mcprelay/shared/token"
	"mcprelay/test/jwt"
	"mcprelay/test/registration"
	"mcprelay/test/runtimeapi"
)

// The issuers of the registration. All of them sign with one key; where it is
// found is what they differ in.
const (
	publicURL = "https://relay.example.com" // and every issuer's audience
	pinned    = "https://pinned.example.com"
	fetched   = "https://login.example.com"
	inside    = "https://inside.example.com"
	looped    = "https://loop.example.com"
)

// login is an issuer that gives its keys to whoever asks.
type login struct {
	jwt.Key
	asked atomic.Int64
}

func newLogin(t *testing.T) *login { return &login{Key: jwt.NewKey(t)} }

func (l *login) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	l.asked.Add(1)
	_ = json.NewEncoder(w).Encode(l.Set())
}

// register stores the issuers, and an entry for one of their callers.
func (l *login) register(t *testing.T, s *stores) {
	t.Helper()
	issuers := []any{
		map[string]any{"issuer": pinned, "audience": publicURL, "kind": "user", "keys": l.Set()},
		map[string]any{"issuer": fetched, "audience": publicURL, "kind": "trusted_issuer", "jwks_uri": fetched + "/keys", "subjects": map[string]string{"build-42": "ci"}},
	}
	for _, name := range []string{inside, looped} {
		issuers = append(issuers, map[string]any{"issuer": name, "audience": publicURL, "kind": "user", "jwks_uri": name + "/keys"})
	}
	text, err := json.Marshal(map[string]any{
		"tenant": tenant, "issuers": issuers,
		"agents": []any{map[string]any{"subject": "alice", "issuer": pinned, "servers": []string{"docs"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	// Whatever else a file has is registered already.
	if err := registration.Put(t.Context(), s, text, registry.KindIssuer, registry.KindAgent); err != nil {
		t.Fatal(err)
	}
}

// claims are those of a good token.
func claims(issuer, subject string) jwt.Members { return jwt.Claims(issuer, publicURL, subject) }

// token is a good one.
func (l *login) token(t *testing.T, issuer, subject string) string {
	t.Helper()
	return l.Sign(t, jwt.Header(), claims(issuer, subject))
}

// keep stores a service token, as change says, and gives it.
func (s *stores) keep(t *testing.T, subject string, change func(r *token.Record, text string)) string {
	t.Helper()
	text, keyID, err := token.Mint(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r := token.Record{
		KeyID: keyID, Hash: token.Hash(text), Tenant: tenant, Subject: subject,
		Kind: call.KindServiceToken, Scopes: []call.Scope{call.ScopeCall}, Created: time.Now().UTC(),
	}
	if change != nil {
		change(&r, text)
	}
	if err := s.PutToken(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return text
}

// as calls a tool of a server with a credential.
func as(t *testing.T, s *runtimeapi.Simulator, credential, server string) said {
	t.Helper()
	return send(t, s, "plain-answered", "/v1/servers/"+server+"/tools/test_simple_text", "", "Authorization", "Bearer "+credential)
}

// wantCaller compares whom the newest record in the table names.
func (w *world) wantCaller(t *testing.T, agent string, kind call.Kind, issuer string, reason call.Reason) {
	t.Helper()
	r := w.records(t)[0]
	if r.State != audit.StateFinal || r.Agent != agent || r.Kind != kind || r.Issuer != issuer || r.Reason != reason {
		t.Errorf("the record names %s %s of %q, %s; want %s %s of %q, %s", r.Kind, r.Agent, r.Issuer, r.Reason, kind, agent, issuer, reason)
	}
	if keyed := r.KeyID != ""; keyed != (issuer == "") {
		t.Errorf("the record names the service token %q beside the issuer %q", r.KeyID, issuer)
	}
}

// wantUnkept looks for credentials in what was printed and recorded; of a JWT
// for its claims and its signature.
func (w *world) wantUnkept(t *testing.T, credentials ...string) {
	t.Helper()
	recorded, err := json.Marshal(w.records(t))
	if err != nil {
		t.Fatal(err)
	}
	written := w.printed.String() + string(recorded)
	for _, c := range credentials {
		parts := strings.Split(c, ".")
		if len(parts) > 1 {
			parts = parts[1:]
		}
		for _, part := range parts {
			if part != "" && strings.Contains(written, part) {
				t.Errorf("%q, a part of a credential, was printed or recorded", part)
			}
		}
	}
}

// callersOfIssuers calls with the same tokens in two processes. Each reads the
// keys of an issuer once, those in the registration never.
func callersOfIssuers(t *testing.T, w *world) {
	alice, build, service := w.login.token(t, pinned, "alice"), w.login.token(t, fetched, "build-42"), w.keep(t, "alice", nil)
	asked := w.login.asked.Load()
	for range 2 {
		s := w.start(t, runtimeapi.Options{})
		as(t, s, alice, "docs").want(t, 200, "")
		w.wantCaller(t, "alice", call.KindUser, pinned, call.OK)
		if got := as(t, s, alice, "exact"); got.status == 200 {
			t.Errorf("alice of the issuer called beyond her entry: %s", got.text)
		}
		w.wantCaller(t, "alice", call.KindUser, pinned, call.OutOfScope)
		as(t, s, service, "exact").want(t, 200, "")
		w.wantCaller(t, "alice", call.KindServiceToken, "", call.OK)
		for range 2 {
			as(t, s, build, "docs").want(t, 200, "")
			w.wantCaller(t, "ci", call.KindTrustedIssuer, fetched, call.OK)
		}
	}
	if got := w.login.asked.Load() - asked; got != 2 {
		t.Errorf("the issuer was asked %d times for its keys, want once by each process", got)
	}
	w.wantUnkept(t, alice, build, service)
}

// forgeries are tokens that are each wrong in one way.
func (l *login) forgeries(t *testing.T) map[string]string {
	t.Helper()
	now, good := time.Now().Unix(), claims(pinned, "alice")
	with := func(m jwt.Members) string { return l.Sign(t, jwt.Header(), good.Plus(m)) }
	parts, others := strings.Split(with(nil), "."), strings.Split(with(jwt.Members{"sub": "bob"}), ".")
	return map[string]string{
		"expired":                    with(jwt.Members{"iat": now - 600, "exp": now - 1}),
		"for another audience":       with(jwt.Members{"aud": "https://other.example.com"}),
		"for two audiences":          with(jwt.Members{"aud": []string{publicURL, "https://other.example.com"}}),
		"of an issuer nobody trusts": with(jwt.Members{"iss": "https://evil.example.com"}),
		"signed by a stranger":       newLogin(t).token(t, pinned, "alice"),
		"of nobody that is mapped":   l.token(t, fetched, "build-43"),
		"tampered":                   parts[0] + "." + others[1] + "." + parts[2],
		"unsigned":                   jwt.Segment(t, jwt.Members{"alg": "none"}) + "." + parts[1] + ".",
		"unsigned, with a signature": l.Sign(t, jwt.Header().Plus(jwt.Members{"alg": "none"}), good),
		"keyed with what is public":  l.Confused(t, good),
	}
}

func forgedTokens(t *testing.T, w *world) {
	s := w.start(t, runtimeapi.Options{Env: []string{"RELAY_AUTHORIZATION_SERVERS=" + pinned + " " + fetched}})
	before := w.records(t)
	requests, _ := w.reached()
	const path = "/v1/servers/docs/mcp"
	var all []string
	for name, text := range w.login.forgeries(t) {
		all = append(all, text)
		got := send(t, s, "mcp-answered-2025", path, "", "Authorization", "Bearer "+text)
		challenge, meta := got.header.Get("WWW-Authenticate"), "/.well-known/oauth-protected-resource"+path
		if got.status != 401 || !strings.Contains(challenge, `error="invalid_token"`) || !strings.Contains(challenge, `resource_metadata="`+publicURL+meta+`"`) {
			t.Errorf("a token %s: got %d, %s, %s", name, got.status, challenge, got.text)
		}
		as(t, s, text, "docs").want(t, 401, call.Unauthenticated)
	}
	if got := since(before, w.records(t)); len(got) != 0 {
		t.Errorf("forgers left the records %q", got)
	}
	if after, _ := w.reached(); after != requests {
		t.Errorf("upstreams saw %d requests, want none", after-requests)
	}
	w.wantUnkept(t, all...)
	told := send(t, s, "list-servers", "/.well-known/oauth-protected-resource"+path, "", "Authorization", "")
	var metadata struct {
		Resource string
		Servers  []string `json:"authorization_servers"`
	}
	if err := json.Unmarshal([]byte(told.text), &metadata); err != nil || metadata.Resource != publicURL+path || strings.Join(metadata.Servers, " ") != pinned+" "+fetched {
		t.Errorf("the metadata are %s, %v", told.text, err)
	}
}

// keysAtPrivatePlaces has issuers whose keys are at a private address and on
// loopback. An issuer has no networks that could allow it.
func keysAtPrivatePlaces(t *testing.T, w *world) {
	s := w.start(t, runtimeapi.Options{})
	before := w.records(t)
	for _, issuer := range []string{inside, looped} {
		got := as(t, s, w.login.token(t, issuer, "alice"), "docs")
		if got.want(t, http.StatusServiceUnavailable, call.AuthUnavailable); got.header.Get("Retry-After") == "" {
			t.Errorf("%s: nobody says when to try again", issuer)
		}
	}
	if got := since(before, w.records(t)); len(got) != 0 {
		t.Errorf("nobody left the records %q", got)
	}
	if hits := w.inside.Hits() + w.canary.Hits(); hits != 0 {
		t.Errorf("private places were connected to %d times", hits)
	}
}
