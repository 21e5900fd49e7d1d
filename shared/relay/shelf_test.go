package relay_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
	"mcprelay/shared/registry"
	"mcprelay/test/kit"
)

func TestTheSameListIsStoredOnce(t *testing.T) {
	f := kit.New(t, "", "")
	f.Lists = listing(`{"name":"look","inputSchema":{}}`)
	for range 5 {
		answer, refusal := f.Acquire(t.Context(), kit.Call(""))
		if answer.Settle(); refusal != nil {
			t.Fatal(refusal)
		}
	}
	if stored, err := f.Catalogs.Catalog(t.Context(), "acme", "up"); err != nil || stored.Version != 1 {
		t.Errorf("version %d, %v, want 1", stored.Version, err)
	}
	f.Lists = listing(`{"name":"look","inputSchema":{"n":1}}`)
	answer, refusal := f.Acquire(t.Context(), kit.Call(""))
	if answer.Settle(); refusal != nil {
		t.Fatal(refusal)
	}
	if stored, err := f.Catalogs.Catalog(t.Context(), "acme", "up"); err != nil || stored.Version != 2 || !strings.Contains(string(stored.Tools[0].Raw), `"n":1`) {
		t.Errorf("version %d of %s, %v, want the changed list", stored.Version, stored.Tools[0].Raw, err)
	}
}

func TestOneListServesAllFirstCalls(t *testing.T) {
	f := kit.New(t, "", "")
	var lists atomic.Int64
	here := make(chan struct{})
	f.Lists = func(w http.ResponseWriter, r *http.Request, body map[string]json.RawMessage) {
		lists.Add(1)
		<-here
		listing(`{"name":"look","inputSchema":{}}`)(w, r, body)
	}
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			if _, refusal := f.Do(context.Background(), kit.Call("look")); refusal != nil {
				t.Error(refusal)
			}
		})
	}
	close(here)
	calls.Wait()
	if lists.Load() > 2 || len(f.Recorder.Own()) != int(lists.Load()) || f.Posts.Load() != 8 {
		t.Errorf("%d lists, %d records of them, %d posts; want one list (two, if a call came late) and 8 posts", lists.Load(), len(f.Recorder.Own()), f.Posts.Load())
	}
}

func TestALegacyCallDoesNotDependOnWhoListedLast(t *testing.T) {
	f := kit.New(t, "", "")
	f.Legacy = true
	f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		kit.Result(w, body, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"},"content":[]}`)
	}
	f.Lists = listing(`{"name":"look","inputSchema":{"properties":{"n":{"type":"object","x-mcp-header":"N"}}}}`)
	for _, when := range []string{"before", "after"} {
		if _, refusal := f.Do(t.Context(), kit.Call("look")); refusal != nil {
			t.Errorf("%s the list: %v", when, refusal)
		}
		answer, refusal := f.Acquire(t.Context(), kit.Call(""))
		if answer.Settle(); refusal != nil || len(answer.Skips) != 1 {
			t.Fatalf("%v, skips %v", refusal, answer.Skips)
		}
	}
}

func TestACatalogOfAnotherRegistrationIsNotUsed(t *testing.T) {
	f := kit.New(t, "", "")
	first := *f.Registry.Registration
	register := func(allowed ...string) {
		up, tenant := *first.Servers["up"], first
		up.AllowedTools, up.UnexpectedTools = allowed, registry.UnexpectedHide
		tenant.Servers = map[string]*registry.Server{"up": &up}
		f.Registry.Registration = &tenant
	}
	f.Lists = listing(`{"name":"look","inputSchema":{}},{"name":"change","inputSchema":{}}`)
	register("look")
	f.Warm(t)
	register("look", "change")
	if _, refusal := f.Do(t.Context(), kit.Call("change")); refusal != nil {
		t.Errorf("a tool that was registered since is refused: %v", refusal)
	}
}

func TestTheCredentialDoesNotReachTheCatalog(t *testing.T) {
	f := kit.New(t, "", "")
	f.Lists = listing(`{"name":"token-one-12345678","inputSchema":{}},{"name":"look","description":"token-one-12345678","inputSchema":{}},{"name":"token-one-12345678"}`)
	f.Warm(t)
	stored, err := f.Catalogs.Catalog(t.Context(), "acme", "up")
	if err != nil || len(stored.Tools) != 1 {
		t.Fatalf("stored %+v, %v, want the one tool that does not have the credential's name", stored, err)
	}
	for _, text := range []string{string(stored.Tools[0].Raw), stored.Tools[0].Name, stored.Skips[0].Name, stored.Skips[0].Reason, f.Log.String()} {
		if strings.Contains(text, "token-one-12345678") {
			t.Errorf("the credential is kept: %s", text)
		}
	}
}

// broken is a store of catalogs that panics.
type broken struct{}

func (broken) Catalog(context.Context, string, string) (catalog.Catalog, error) { panic("a value") }

func (broken) PutCatalog(context.Context, string, string, catalog.Catalog) (catalog.Catalog, error) {
	panic("a value")
}

func TestAPanicOfAStoreIsARefusalEverywhere(t *testing.T) {
	f := kit.New(t, "", "")
	f.Relay.Catalogs = broken{}
	answer, refusal := f.Relay.Run(t.Context(), kit.Call("look"))
	answer.Settle()
	kit.WantReason(t, refusal, call.Internal)
	if r := f.Recorder.Only(t); r.Reason != call.Internal || r.Agent != "ci" || r.Server != "up" || f.Posts.Load() != 0 {
		t.Errorf("record %+v after %d posts, want the caller's final and none", r, f.Posts.Load())
	}
	answer, refusal = f.Acquire(t.Context(), kit.Call(""))
	answer.Settle()
	kit.WantReason(t, refusal, call.Internal)
}

func TestAChallengeIsMaskedBeforeItIsCut(t *testing.T) {
	f := kit.New(t, "", "")
	f.Warm(t)
	f.Answer = func(w http.ResponseWriter, _ *http.Request, _ map[string]json.RawMessage) {
		w.Header().Set("WWW-Authenticate", strings.Repeat("x", 500)+" token-one-12345678")
		w.WriteHeader(http.StatusForbidden)
	}
	_, refusal := f.Do(t.Context(), kit.Call("look"))
	kit.WantReason(t, refusal, call.UpstreamUnauthorized)
	if r := f.Recorder.Only(t); len(r.Challenge) > 512 || strings.Contains(r.Challenge, "token-one") {
		t.Errorf("recorded %d bytes: %s", len(r.Challenge), r.Challenge)
	}
}
