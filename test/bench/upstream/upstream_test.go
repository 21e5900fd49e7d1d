package upstream_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/test/bench/upstream"
)

func post(t *testing.T, h http.Handler, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body)))
	return w
}

func TestCallsGiveTheBytesOfTheArgumentsBack(t *testing.T) {
	const arguments = `{"z": 9007199254740993, "a":1.0,"s":"<&>\u00e9","z":1}`
	for name, body := range map[string]string{
		"arguments first": `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"arguments":` + arguments + `,"name":"echo","_meta":{"a":[1]}}}`,
		"id last":         `{"params":{"name":"echo","arguments":` + arguments + `},"method":"tools/call","other":{"x":[]},"jsonrpc":"2.0","id":"x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := post(t, upstream.New(false), body)
			if want := `"structuredContent":` + arguments + `}}`; w.Code != 200 || !strings.HasSuffix(w.Body.String(), want) {
				t.Errorf("got %d %s, want 200 with %s", w.Code, w.Body, want)
			}
			if !strings.Contains(w.Body.String(), `"id":"x"`) {
				t.Errorf("got %s, want the id of the request", w.Body)
			}
		})
	}
}

func TestRepliesAreJSON(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		for _, method := range []string{"tools/call", "tools/list", "server/discover", "initialize", "ping", "nope"} {
			w := post(t, upstream.New(legacy), `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{}}`)
			if !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s: %s is no JSON", method, w.Body)
			}
		}
	}
}

func TestStatusesByMethodAndEra(t *testing.T) {
	for _, c := range []struct {
		method         string
		modern, legacy int
	}{
		{"tools/call", 200, 200}, {"tools/list", 200, 200}, {"initialize", 200, 200}, {"ping", 200, 200},
		{"server/discover", 200, 400}, {"nope", 404, 404},
	} {
		body := `{"jsonrpc":"2.0","id":1,"method":"` + c.method + `"}`
		if got := post(t, upstream.New(false), body).Code; got != c.modern {
			t.Errorf("%s, modern: got %d, want %d", c.method, got, c.modern)
		}
		if got := post(t, upstream.New(true), body).Code; got != c.legacy {
			t.Errorf("%s, legacy: got %d, want %d", c.method, got, c.legacy)
		}
	}
}

func TestInitializeGivesASession(t *testing.T) {
	if id := post(t, upstream.New(true), `{"id":1,"method":"initialize"}`).Header().Get("Mcp-Session-Id"); id == "" {
		t.Error("want a session id")
	}
	if id := post(t, upstream.New(true), `{"id":1,"method":"tools/call"}`).Header().Get("Mcp-Session-Id"); id != "" {
		t.Errorf("want no session id on a call, got %q", id)
	}
}

func TestPOSTsAreCountedByMethod(t *testing.T) {
	s := upstream.New(false)
	post(t, s, `{"id":1,"method":"tools/call","params":{}}`)
	post(t, s, `{"id":2,"method":"tools/call","params":{}}`)
	if w := post(t, s, `{"method":"notifications/initialized"}`); w.Code != 202 || w.Body.Len() != 0 {
		t.Errorf("a notification: got %d %q, want 202 and nothing", w.Code, w.Body)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, upstream.CountPath, nil))
	got := map[string]int{}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"tools/call": 2, "notifications/initialized": 1}, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

func TestWhatIsNoRequestIsRefusedAndNotCounted(t *testing.T) {
	s := upstream.New(false)
	for _, body := range []string{``, `[]`, `{`, `{"id":1`, `{"method":1x}`, `{"params":[]}`, `"text"`} {
		if got := post(t, s, body).Code; got != 400 {
			t.Errorf("%q: got %d, want 400", body, got)
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/mcp", nil))
	if w.Code != 405 || w.Header().Get("Allow") != "POST" {
		t.Errorf("GET: got %d and Allow %q, want 405 and POST", w.Code, w.Header().Get("Allow"))
	}
	w = httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, upstream.CountPath, nil))
	if got := strings.TrimSpace(w.Body.String()); got != "{}" {
		t.Errorf("got the counts %s, want none", got)
	}
}
