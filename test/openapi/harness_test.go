package openapi_test

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/app"
	"mcprelay/shared/call"
	"mcprelay/shared/front"
	"mcprelay/test/kit"
)

// scenario provokes one documented response.
type scenario struct {
	name      string
	operation string // operationId
	status    int
	stream    bool // an event stream, not JSON

	request request
	server  string // keys of the upstream's entry, each with a leading comma
	file    string // keys of the config file, likewise
	arrange func(*testing.T, *kit.Relay)
	context func() context.Context // of the request; nil for one without an end
}

// request is what an agent sends. Headers come in pairs; an empty value takes
// one of the usual ones away.
type request struct {
	method, path, body string
	headers            []string
}

// authenticate knows a caller, one without the scope, a store that is down and
// a fault of the relay itself.
func authenticate(_ context.Context, h http.Header) (call.Principal, *call.Refusal) {
	p := call.Principal{Tenant: "acme", Subject: "ci", Kind: call.KindUser, Scopes: []call.Scope{call.ScopeCall, call.ScopeAdminRead}}
	switch h.Get("Authorization") {
	case "Bearer good":
		return p, nil
	case "Bearer reader":
		p.Scopes = []call.Scope{call.ScopeAuditRead}
		return p, nil
	case "Bearer down":
		return p, call.Refuse(call.AuthUnavailable, "")
	case "Bearer fault":
		panic("a fault")
	}
	return call.Principal{}, call.Refuse(call.Unauthenticated, "")
}

func handler(k *kit.Relay) http.Handler {
	return front.New(front.Options{
		Relay: k.Relay, Authenticate: authenticate, Name: "mcprelay", Version: "9", Now: time.Now, NewID: app.NewID,
	})
}

func (s scenario) run(t *testing.T) *httptest.ResponseRecorder {
	t.Helper()
	k := kit.New(t, s.server, s.file)
	if s.arrange != nil {
		s.arrange(t, k)
	}
	r := s.request.made()
	if s.context != nil {
		r = r.WithContext(s.context())
	}
	w := httptest.NewRecorder()
	handler(k).ServeHTTP(w, r)
	bounded, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	k.Close(bounded)
	return w
}

func (q request) made() *http.Request {
	r := httptest.NewRequest(q.method, q.path, strings.NewReader(q.body))
	r.Header.Set("Authorization", "Bearer good")
	if q.method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	for i := 0; i < len(q.headers); i += 2 {
		if r.Header.Del(q.headers[i]); q.headers[i+1] != "" {
			r.Header.Set(q.headers[i], q.headers[i+1])
		}
	}
	return r
}

// find gives the operation of a scenario; its request must be one of it.
func (d document) find(t *testing.T, s scenario) (op operation) {
	t.Helper()
	d.operations(func(template, method string, o operation) {
		if o.OperationID != s.operation {
			return
		}
		op = o
		pattern := "^" + variable.ReplaceAllString(regexp.QuoteMeta(strings.NewReplacer("{", "\x01", "}", "\x02").Replace(template)), "") + "$"
		pattern = regexp.MustCompile("\x01[^\x02]*\x02").ReplaceAllString(pattern, "[^/]+")
		if !strings.EqualFold(method, s.request.method) || !regexp.MustCompile(pattern).MatchString(s.request.path) {
			t.Errorf("%s %s is no request of %s", s.request.method, s.request.path, s.operation)
		}
	})
	if op.OperationID == "" {
		t.Fatalf("the document has no operation %s", s.operation)
	}
	return op
}

// check compares a reply with what the document says of its status.
func (d document) check(t *testing.T, op operation, s scenario, w *httptest.ResponseRecorder) {
	t.Helper()
	said, ok := op.Responses[strconv.Itoa(w.Code)]
	if !ok {
		t.Fatalf("status %d is not documented: %s", w.Code, w.Body)
	}
	if w.Code != s.status {
		t.Fatalf("got %d %s, want %d", w.Code, w.Body, s.status)
	}
	for name, h := range said.Headers {
		if h.Required && w.Header().Get(name) == "" {
			t.Errorf("header %s is missing", name)
		}
	}
	if w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Error("the type may be guessed")
	}
	if len(said.Content) == 0 {
		if w.Body.Len() > 0 && s.request.method != http.MethodHead { // net/http drops that of HEAD
			t.Errorf("a body where none is documented: %s", w.Body)
		}
		return
	}
	kind, _, err := mime.ParseMediaType(w.Header().Get("Content-Type"))
	content, ok := said.Content[kind]
	if err != nil || !ok || s.stream != (kind == "text/event-stream") {
		t.Fatalf("type %q, documented are %v", w.Header().Get("Content-Type"), sorted(said.Content))
	}
	body := any(w.Body.String())
	if !s.stream {
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.schema(t, content.Schema).Validate(body); err != nil {
		t.Errorf("%v in %s", err, w.Body)
	}
	if problem, ok := body.(map[string]any); ok && kind == "application/problem+json" && problem["status"] != float64(w.Code) {
		t.Errorf("status %d with %s", w.Code, w.Body)
	}
}

func TestEveryDocumentedResponseIsGivenAndNoOther(t *testing.T) {
	d := read(t)
	given := map[string]bool{}
	for _, s := range slices.Concat(gated(), mcp(), plain(), limited(), turns(), simulations(), about()) {
		t.Run(s.operation+"/"+strconv.Itoa(s.status)+"/"+s.name, func(t *testing.T) {
			op := d.find(t, s)
			for i := 0; i < len(s.request.headers); i += 2 {
				d.known(t, op, s.request.headers[i])
			}
			w := s.run(t)
			d.check(t, op, s, w)
			kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
			given[s.operation+" "+strconv.Itoa(s.status)+" "+kind] = true
			given[s.operation+" "+strconv.Itoa(s.status)] = true
		})
	}
	d.operations(func(_, _ string, op operation) {
		for status, r := range op.Responses {
			if !given[op.OperationID+" "+status] {
				t.Errorf("%s: nothing provokes status %s", op.OperationID, status)
			}
			for kind := range r.Content {
				if !given[op.OperationID+" "+status+" "+kind] {
					t.Errorf("%s: nothing provokes status %s as %s", op.OperationID, status, kind)
				}
			}
		}
	})
}

// known wants a header of a request to be documented, but for those that the
// specification keeps for itself, and what refuses a request.
func (d document) known(t *testing.T, op operation, name string) {
	t.Helper()
	if slices.Contains([]string{"Accept", "Content-Type", "Authorization", "Via", "Origin"}, name) {
		return
	}
	if !slices.ContainsFunc(op.Parameters, func(p parameter) bool { return p.In == "header" && p.Name == name }) {
		t.Errorf("header %s is not documented", name)
	}
}
