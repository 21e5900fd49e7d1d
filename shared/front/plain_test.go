package front_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/idempotency"
)

// keys notes the keys that calls come with, and lets every call run.
type keys struct{ seen []idempotency.Key }

func (k *keys) BeginKey(_ context.Context, key idempotency.Key, r idempotency.Record) (idempotency.Record, bool, error) {
	k.seen = append(k.seen, key)
	return r, true, nil
}

func (k *keys) EndKey(context.Context, idempotency.Key, idempotency.Record) error { return nil }

func TestACallIsMadeUnderItsIdempotencyKey(t *testing.T) {
	const rpc = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{}}}`
	for path, body := range map[string]string{mcpPath: rpc, "/v1/mcp": strings.Replace(rpc, "look", "up__look", 1), "/v1/servers/up/tools/look": `{"arguments":{}}`} {
		f, k := newFront(t, false)
		kept := &keys{}
		k.Relay.Keys = kept
		for _, key := range []string{"a", "!~", strings.Repeat("k", 255)} {
			if w := ask(f, "POST", path, body, "Idempotency-Key", key); w.Code != 200 {
				t.Errorf("%s with %.9q: got %d %s", path, key, w.Code, w.Body)
			}
			want := idempotency.KeyOf("acme", string(call.KindUser), "ci", key)
			if got := kept.seen; len(got) == 0 || got[len(got)-1] != want {
				t.Errorf("%s with %.9q: the call's keys are %v, want %v last", path, key, got, want)
			}
		}
		before := len(kept.seen)
		if w := ask(f, "POST", path, body); w.Code != 200 || len(kept.seen) != before {
			t.Errorf("%s without a key: got %d, %d keys", path, w.Code, len(kept.seen))
		}
	}
}

func TestAKeyIsVisibleASCIIAndGivenOnce(t *testing.T) {
	const rpc = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{}}}`
	f, k := newFront(t, false)
	for path, body := range map[string]string{mcpPath: rpc, "/v1/servers/up/tools/look": `{"arguments":{}}`} {
		for name, values := range map[string][]string{
			"empty": {""}, "blank": {" "}, "with a blank": {"a b"}, "with a tab": {"a\tb"}, "not ASCII": {"ä"}, "a control": {"a\x7f"},
			"too long": {strings.Repeat("k", 256)}, "repeated": {"a", "a"},
		} {
			r := httptest.NewRequest("POST", path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer good")
			r.Header.Set("Content-Type", "application/json")
			r.Header["Idempotency-Key"] = values
			w := httptest.NewRecorder()
			f.ServeHTTP(w, r)
			if w.Code != 400 || !strings.Contains(w.Body.String(), `"reason":"bad_request"`) {
				t.Errorf("%s, %s: got %d %s", path, name, w.Code, w.Body)
			}
		}
	}
	if k.Requests.Load() != 0 {
		t.Error("the upstream was reached")
	}
}

func TestAKeyOfWhatIsNoToolCallIsNotLookedAt(t *testing.T) {
	f, k := newFront(t, false)
	kept := &keys{}
	k.Relay.Keys = kept
	w := ask(f, "POST", mcpPath, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Idempotency-Key", "a")
	if w.Code != 200 || len(kept.seen) != 0 {
		t.Errorf("got %d, keys %v", w.Code, kept.seen)
	}
}
