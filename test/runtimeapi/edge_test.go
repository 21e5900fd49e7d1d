package runtimeapi_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"mcprelay/shared/call"
	"mcprelay/shared/token"
	"mcprelay/test/jwt"
	"mcprelay/test/runtimeapi"
)

// edgeTimeout is how long API Gateway waits for the edge check.
const edgeTimeout = 10 * time.Second

// What API Gateway makes of the answers of the edge check.
const (
	unauthorized = "Unauthorized" // an error of this very text
	denied       = "Deny unverified"
	unverified   = "Allow unverified"
)

// edge is the real functions/authorizer behind the simulator.
type edge struct{ *runtimeapi.Simulator }

func startEdge(t *testing.T, w *world, env ...string) edge {
	t.Helper()
	return edge{w.start(t, runtimeapi.Options{
		Bootstrap: build(t, "mcprelay/functions/authorizer"), Timeout: edgeTimeout, Env: append(env, "RELAY_SEAL_SECRET="+sealName),
	})}
}

// asks gives the answer about a request: its effect and its principal.
func (e edge) asks(t *testing.T, path string, headers ...string) string {
	t.Helper()
	var question events.APIGatewayCustomAuthorizerRequestTypeRequest
	if err := json.Unmarshal(readFile(t, "../../events/authorizer/caller.json"), &question); err != nil {
		t.Fatal(err)
	}
	question.Path = path
	question.MethodArn = "arn:aws:execute-api:eu-central-1:123456789012:abcdefghij/live/POST" + path
	question.Headers, question.MultiValueHeaders = map[string]string{}, map[string][]string{}
	for i := 0; i < len(headers); i += 2 {
		question.Headers[headers[i]] = headers[i+1]
		question.MultiValueHeaders[headers[i]] = append(question.MultiValueHeaders[headers[i]], headers[i+1])
	}
	text, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := e.Invoke(t.Context(), text)
	if report := new(runtimeapi.FunctionError); errors.As(err, &report) {
		return report.Message
	}
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	return verdict(t, reply.Body, question.MethodArn)
}

func verdict(t *testing.T, body io.Reader, arn string) string {
	t.Helper()
	var answer events.APIGatewayCustomAuthorizerResponse
	if err := json.NewDecoder(body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	statements := answer.PolicyDocument.Statement
	if len(statements) != 1 || len(statements[0].Resource) != 1 || statements[0].Resource[0] != arn {
		t.Fatalf("the policy %+v is not about %s alone", answer.PolicyDocument, arn)
	}
	return statements[0].Effect + " " + answer.PrincipalID
}

func (e edge) bears(t *testing.T, path, credential string) string {
	t.Helper()
	return e.asks(t, path, "Authorization", "Bearer "+credential)
}

// wantTurnedAway wants a credential refused at every path.
func (e edge) wantTurnedAway(t *testing.T, what, credential string) {
	t.Helper()
	for path, want := range map[string]string{"/v1/mcp": unauthorized, "/v1/servers/docs/mcp": denied, "/v1/servers/docs/tools/test_simple_text": denied} {
		if got := e.bears(t, path, credential); got != want {
			t.Errorf("%s at %s: got %q, want %q", what, path, got, want)
		}
	}
}

// wrongTokens are service tokens that are surely refused.
func (w *world) wrongTokens(t *testing.T) map[string]string {
	t.Helper()
	unknown, _, err := token.Mint(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"an unknown token": unknown,
		"a revoked token":  w.keep(t, "ci", func(r *token.Record, _ string) { r.RevokedAt = time.Now() }),
		"an expired token": w.keep(t, "ci", func(r *token.Record, _ string) { r.Expires = time.Now() }),
		"another secret":   w.keep(t, "ci", func(r *token.Record, _ string) { r.Hash = token.Hash("another") }),
	}
}

// sealed keeps a token whose hash takes the sealing key.
func (w *world) sealed(t *testing.T) string {
	t.Helper()
	keys, err := w.SealKeys(t.Context(), sealName)
	if err != nil {
		t.Fatal(err)
	}
	peppers, err := token.NewPeppers(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return w.keep(t, "sealed", func(r *token.Record, text string) {
		if err := peppers.Seal(r, text); err != nil {
			t.Error(err)
		}
	})
}

func edgeCheck(t *testing.T, w *world) {
	e := startEdge(t, w)
	const one = "/v1/servers/docs/mcp"
	bound := w.login.Sign(t, jwt.Header(), claims(pinned, "alice").Plus(jwt.Members{"aud": publicURL + one}))
	for _, c := range []struct{ name, path, credential, want string }{
		{"a service token", "/v1/mcp", callerToken, "Allow ci"},
		{"a service token at one server", one, callerToken, "Allow ci"},
		{"a token that the sealing key hashed", "/v1/mcp", w.sealed(t), "Allow sealed"},
		{"a JWT", "/v1/mcp", w.login.token(t, pinned, "alice"), "Allow alice"},
		{"a JWT of a mapped subject, whose keys are fetched", one, w.login.token(t, fetched, "build-42"), "Allow ci"},
		{"a JWT of this path", one, bound, "Allow alice"},
		{"a JWT of another path", "/v1/mcp", bound, unauthorized},
		{"a JWT of another server's path", "/v1/servers/old/mcp", bound, "Deny alice"},
		{"a JWT whose keys cannot be read", "/v1/mcp", w.login.token(t, inside, "alice"), unverified},
		{"a JWT whose keys are on loopback", one, w.login.token(t, looped, "alice"), unverified},
	} {
		if got := e.bears(t, c.path, c.credential); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if got := e.asks(t, one, "X-Relay-Client-Id", "ci", "X-Relay-Client-Secret", callerToken); got != "Allow ci" {
		t.Errorf("the pair of headers: %q", got)
	}
	if got := e.asks(t, one, "Authorization", "Bearer letmein", "Authorization", "Bearer "+callerToken); got != unverified {
		t.Errorf("two credentials, which the relay refuses: %q", got)
	}
	for name, credential := range w.wrongTokens(t) {
		e.wantTurnedAway(t, name, credential)
	}
	for name, credential := range w.login.forgeries(t) {
		e.wantTurnedAway(t, "a JWT "+name, credential)
	}
	e.wantSurelyRefused(t)
	if hits := w.inside.Hits() + w.canary.Hits(); hits != 0 {
		t.Errorf("private places were connected to %d times", hits)
	}
	w.wantUnkept(t, callerToken, bound)
}

// wantSurelyRefused wants what no store is needed for: who has no credential,
// or no more than a word, comes to the open paths alone.
func (e edge) wantSurelyRefused(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/healthz", "/v1/openapi.json", "/.well-known/oauth-protected-resource/v1/mcp"} {
		if got := e.asks(t, path); got != unverified {
			t.Errorf("nobody at %s: got %q, want %q", path, got, unverified)
		}
	}
	if got := e.asks(t, "/v1/mcp"); got != unauthorized {
		t.Errorf("nobody: got %q, want %q", got, unauthorized)
	}
	if got := e.asks(t, "/v1/servers/docs/mcp"); got != denied {
		t.Errorf("nobody at one server: got %q, want %q", got, denied)
	}
	e.wantTurnedAway(t, "a word", "letmein")
	e.wantTurnedAway(t, "what only looks like a token", callerToken[:len(callerToken)-1]+"x")
	e.wantTurnedAway(t, "what only looks like a JWT", "a.b.c")
}

// The states of a valve.
const (
	open   = iota
	shut   // connections break
	silent // nothing is answered
)

// valve is a way to the table store that a test can close.
type valve struct {
	*httptest.Server
	state atomic.Int32
}

func newValve(t *testing.T, to string) *valve {
	t.Helper()
	v, next := &valve{}, forward(t, to)
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch v.state.Load() {
		case open:
			next.ServeHTTP(w, r)
		case silent:
			_, _ = io.Copy(io.Discard, r.Body) // a reader of the end learns that the client has gone
			<-r.Context().Done()
		default:
			if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = connection.Close()
			}
		}
	}))
	t.Cleanup(v.Close)
	return v
}

// env has a function find the store behind the valve.
func (v *valve) env() string { return "AWS_ENDPOINT_URL_DYNAMODB=" + v.URL }

// through is a call as API Gateway passes it: the edge check is asked first,
// and what it turns away never comes to the relay.
func through(t *testing.T, e edge, relay *runtimeapi.Simulator, credential string) said {
	t.Helper()
	const path = "/v1/servers/docs/tools/test_simple_text"
	if got := e.bears(t, path, credential); !strings.HasPrefix(got, "Allow ") {
		return said{status: http.StatusUnauthorized, text: "at the edge"}
	}
	return as(t, relay, credential, "docs")
}

func edgeWithoutStore(t *testing.T, w *world) {
	v := newValve(t, w.dynalite)
	e := startEdge(t, w, v.env())
	relay, behind := w.start(t, runtimeapi.Options{}), w.start(t, runtimeapi.Options{Env: []string{v.env()}})
	wrong := w.wrongTokens(t)
	wrong["a JWT that a stranger signed"] = newLogin(t).token(t, pinned, "alice")
	before := w.records(t)
	requests, _ := w.reached()

	v.state.Store(shut)
	for name, credential := range wrong {
		if got := e.bears(t, "/v1/mcp", credential); got != unverified {
			t.Errorf("%s without the store: got %q, want %q", name, got, unverified)
		}
		// The relay has a store, or none either: it passes nobody.
		got := through(t, e, relay, credential)
		if got.want(t, http.StatusUnauthorized, call.Unauthenticated); got.text == "at the edge" {
			t.Errorf("%s: the edge check decided without the store", name)
		}
		through(t, e, behind, credential).want(t, http.StatusServiceUnavailable, call.AuthUnavailable)
	}
	e.wantSurelyRefused(t)

	v.state.Store(silent) // in its time all the same
	for _, credential := range []string{wrong["an unknown token"], wrong["a JWT that a stranger signed"]} {
		if got := e.bears(t, "/v1/mcp", credential); got != unverified {
			t.Errorf("with a silent store: got %q, want %q", got, unverified)
		}
	}

	v.state.Store(open) // nothing of it was kept
	for name, credential := range wrong {
		e.wantTurnedAway(t, name+", with the store again", credential)
		as(t, behind, credential, "docs").want(t, http.StatusUnauthorized, call.Unauthenticated)
	}
	if got := since(before, w.records(t)); len(got) != 0 {
		t.Errorf("nobody left the records %q", got)
	}
	if after, _ := w.reached(); after != requests {
		t.Errorf("upstreams saw %d requests, want none", after-requests)
	}
	for _, credential := range []string{callerToken, w.login.token(t, pinned, "alice")} {
		through(t, e, behind, credential).want(t, http.StatusOK, "")
	}
}
