package relay_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/relay"
	"mcprelay/test/kit"
)

// tools is a list of tools of these names.
func tools(names ...string) kit.Answer {
	var all []string
	for _, name := range names {
		all = append(all, `{"name":"`+name+`","inputSchema":{"type":"object"}}`)
	}
	return listing(strings.Join(all, ","))
}

func shown(items []relay.Shown) (names []string) {
	for _, item := range items {
		names = append(names, item.Name)
	}
	return names
}

func TestListsAreReadOnceForEverybody(t *testing.T) {
	f := kit.New(t, "", "")
	f.Lists = tools("look", "change", "never")
	for range 3 {
		views, refusal := f.Views(t.Context(), kit.Call(""))
		if refusal != nil || len(views) != 1 {
			t.Fatalf("%d views, %v", len(views), refusal)
		}
		if diff := cmp.Diff([]string{"change", "look"}, shown(views[0].Tools())); diff != "" {
			t.Errorf("tools in their order, without the denied one (-want +got):\n%s", diff)
		}
	}
	if f.Requests.Load() != 2 || len(f.Recorder.Own()) != 1 {
		t.Errorf("%d requests, %d acquisitions, want the opening, the tools and one", f.Requests.Load(), len(f.Recorder.Own()))
	}
	if _, finals := f.Recorder.Written(); finals != 0 {
		t.Errorf("%d records of lists for which no server was asked", finals)
	}
	if lines := strings.Count(f.Log.String(), `"msg":"listed"`); lines != 3 {
		t.Errorf("%d lines about lists that were shown, want 3", lines)
	}
}

func TestStaleListsAreShownWhileTheyAreReadAgain(t *testing.T) {
	f := kit.New(t, `,"pin":"off"`, "")
	f.Lists = tools("look")
	if _, refusal := f.View(t.Context(), kit.Call("")); refusal != nil {
		t.Fatal(refusal)
	}
	later := time.Now().Add(relay.FreshFor + time.Second)
	f.Config.Now = func() time.Time { return later }
	reading := make(chan struct{})
	f.Lists = func(w http.ResponseWriter, r *http.Request, body map[string]json.RawMessage) {
		<-reading
		tools("look", "change")(w, r, body)
	}
	for range 2 {
		view, refusal := f.View(t.Context(), kit.Call(""))
		if refusal != nil || len(view.Tools()) != 1 || view.Failure != nil {
			t.Fatalf("%v, %v, want the last good list at once", shown(view.Tools()), refusal)
		}
	}
	close(reading)
	f.Rest(t.Context())
	view, refusal := f.View(t.Context(), kit.Call(""))
	if refusal != nil || len(view.Tools()) != 2 {
		t.Errorf("%v, %v, want the list that was read meanwhile", shown(view.Tools()), refusal)
	}
	if len(f.Recorder.Own()) != 2 {
		t.Errorf("%d acquisitions, want 2", len(f.Recorder.Own()))
	}
}

func TestAServerThatHangsLosesNobodyTheOthersLists(t *testing.T) {
	f, slow := kit.New(t, "", ""), kit.New(t, `,"startup_timeout_ms":2500`, "")
	f.Beside(t, slow, "slow")
	var asked atomic.Int64
	slow.Lists = func(_ http.ResponseWriter, r *http.Request, _ map[string]json.RawMessage) {
		asked.Add(1)
		<-r.Context().Done()
	}
	f.Lists = tools("look")
	for i := range 3 {
		began := time.Now()
		views, refusal := f.Views(t.Context(), kit.Call(""))
		if refusal != nil || len(views) != 2 {
			t.Fatalf("%d views, %v", len(views), refusal)
		}
		if len(views[1].Tools()) != 1 || views[1].Failure != nil {
			t.Errorf("the server that answers: %v, %v", shown(views[1].Tools()), views[1].Failure)
		}
		if views[0].Failure == nil || len(views[0].Tools()) != 0 || views[0].Known() {
			t.Errorf("the server that hangs: %v, %v, want nothing and why", shown(views[0].Tools()), views[0].Failure)
		}
		if took := time.Since(began); took > relay.FirstWait || i > 0 && took > time.Second {
			t.Errorf("list %d took %v", i+1, took)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("the server that hangs was asked %d times, want once until its failure is forgotten", asked.Load())
	}
	later := time.Now().Add(31 * time.Second)
	f.Config.Now = func() time.Time { return later }
	slow.Lists = tools("look")
	if _, refusal := f.Views(t.Context(), kit.Call("")); refusal != nil {
		t.Fatal(refusal)
	}
	f.Rest(t.Context())
	if views, refusal := f.Views(t.Context(), kit.Call("")); refusal != nil || views[0].Failure != nil || len(views[0].Tools()) != 1 {
		t.Errorf("after its failure was forgotten: %v, %v", views[0].Failure, refusal)
	}
}

func TestWhoeverAsksMeanwhileWaitsForTheFirstListsToo(t *testing.T) {
	f := kit.New(t, "", "")
	reading, answer := make(chan struct{}), make(chan struct{})
	f.Lists = func(w http.ResponseWriter, r *http.Request, body map[string]json.RawMessage) {
		close(reading)
		<-answer
		tools("look")(w, r, body)
	}
	got := make(chan int, 2)
	ask := func() {
		views, refusal := f.Views(context.Background(), kit.Call(""))
		if refusal != nil {
			t.Error(refusal)
			return
		}
		got <- len(views[0].Tools())
	}
	go ask()
	<-reading
	go ask()
	time.AfterFunc(50*time.Millisecond, func() { close(answer) })
	if a, b := <-got, <-got; a != 1 || b != 1 {
		t.Errorf("%d and %d tools, want the one for both", a, b)
	}
}

func TestAServerWithLittleTimeToStartIsListedAllTheSame(t *testing.T) {
	f := kit.New(t, `,"startup_timeout_ms":100`, "")
	if view, refusal := f.View(t.Context(), kit.Call("")); refusal != nil || len(view.Tools()) == 0 {
		t.Errorf("%v, %v", shown(view.Tools()), refusal)
	}
}

func TestTheLastGoodListOutlivesItsServer(t *testing.T) {
	f := kit.New(t, "", "")
	f.Lists = tools("look")
	if _, refusal := f.View(t.Context(), kit.Call("")); refusal != nil {
		t.Fatal(refusal)
	}
	f.Lists = func(w http.ResponseWriter, _ *http.Request, _ map[string]json.RawMessage) {
		w.WriteHeader(http.StatusInternalServerError)
	}
	later := time.Now().Add(25 * time.Hour)
	f.Config.Now = func() time.Time { return later }
	if _, refusal := f.View(t.Context(), kit.Call("")); refusal != nil {
		t.Fatal(refusal)
	}
	f.Rest(t.Context())
	view, refusal := f.View(t.Context(), kit.Call(""))
	if refusal != nil || len(view.Tools()) != 1 || view.Failure == nil || view.Failure.Reason != call.ListFailed {
		t.Errorf("%v, %v, failure %v; want the last good list and why it is old", shown(view.Tools()), refusal, view.Failure)
	}
}

func TestAServerThatCannotBeListedIsRefusedByItself(t *testing.T) {
	f := kit.New(t, "", "")
	f.Lists = func(w http.ResponseWriter, _ *http.Request, _ map[string]json.RawMessage) {
		w.WriteHeader(http.StatusInternalServerError)
	}
	c := kit.Call("")
	c.Operation = "tools/list"
	_, refusal := f.View(t.Context(), c)
	kit.WantReason(t, refusal, call.ListFailed)
	if r := f.Recorder.Only(t); r.CallID != c.ID || r.About != "tools/list" || r.Outcome != call.NoAnswer || r.Posts != 0 {
		t.Errorf("record %+v, want the agent's own", r)
	}
	c.Server = "other"
	_, refusal = f.View(t.Context(), c)
	kit.WantReason(t, refusal, call.UnknownServer)
}

func TestEveryListThatAServerHasIsShownByItsRules(t *testing.T) {
	f := kit.New(t, "", "")
	f.Allow(t, "mcp.up.resource.file:///a", "mcp.up.resource.file:///{name}", "mcp.up.prompt.yes", "mcp.up.prompt.also")
	f.Capabilities = `"resources":{},"prompts":{}`
	f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		switch string(body["method"]) {
		case `"resources/list"`:
			kit.Result(w, body, `{"resultType":"complete","resources":[{"uri":"file:///b","name":"b"},{"uri":"file:///a","name":"a","size":1.0},{"name":"no uri"}]}`)
		case `"resources/templates/list"`:
			kit.Result(w, body, `{"resultType":"complete","resourceTemplates":[{"uriTemplate":"file:///{name}","name":"t"}]}`)
		case `"prompts/list"`:
			kit.Result(w, body, `{"resultType":"complete","prompts":[{"name":"yes"},{"name":"no"},{"name":"also"}]}`)
		}
	}
	view, refusal := f.View(t.Context(), kit.Call(""))
	if refusal != nil {
		t.Fatal(refusal)
	}
	got := map[call.List][]string{}
	for _, list := range []call.List{call.ListResources, call.ListTemplates, call.ListPrompts} {
		got[list] = shown(view.List(list))
	}
	want := map[call.List][]string{call.ListResources: {"file:///a"}, call.ListTemplates: {"file:///{name}"}, call.ListPrompts: {"also", "yes"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if raw := string(view.Resources()[0].Raw); raw != `{"uri":"file:///a","name":"a","size":1.0}` {
		t.Errorf("the descriptor came as %s", raw)
	}
	if len(view.Catalog.Skips) != 1 || view.Catalog.Skips[0].List != call.ListResources {
		t.Errorf("skips %+v, want the one without a URI", view.Catalog.Skips)
	}
}

func TestOneListThatFailsKeepsWhatWasKnownOfIt(t *testing.T) {
	f := kit.New(t, "", "")
	f.Allow(t, "mcp.up.prompt.*")
	f.Capabilities = `"resources":{},"prompts":{}`
	prompts := `{"resultType":"complete","prompts":[{"name":"yes"}]}`
	f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		if string(body["method"]) == `"prompts/list"` {
			kit.Result(w, body, prompts)
			return
		}
		kit.Result(w, body, `{"resultType":"complete","resources":[],"resourceTemplates":[]}`)
	}
	if _, refusal := f.View(t.Context(), kit.Call("")); refusal != nil {
		t.Fatal(refusal)
	}
	prompts = `{"resultType":"complete","prompts":7}`
	later := time.Now().Add(relay.FreshFor + time.Second)
	f.Config.Now = func() time.Time { return later }
	for range 2 {
		view, refusal := f.View(t.Context(), kit.Call(""))
		f.Rest(t.Context())
		if refusal != nil || !slices.Equal(shown(view.Prompts()), []string{"yes"}) || len(view.Tools()) == 0 {
			t.Errorf("prompts %v, tools %v, %v", shown(view.Prompts()), shown(view.Tools()), refusal)
		}
	}
	view, _ := f.View(t.Context(), kit.Call(""))
	if failed := view.Failures[call.ListPrompts]; failed == nil || failed.Reason != call.ListFailed || view.Failure != nil {
		t.Errorf("failures %v, %v, want that of the prompts", view.Failures, view.Failure)
	}
}

func TestClosingEndsWhatIsReadInTheBackground(t *testing.T) {
	f := kit.New(t, "", "")
	gone := make(chan struct{})
	f.Lists = func(_ http.ResponseWriter, r *http.Request, _ map[string]json.RawMessage) {
		<-r.Context().Done()
		close(gone)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if views, refusal := f.Views(ctx, kit.Call("")); refusal != nil || views[0].Known() {
		t.Fatalf("%v, %v", views, refusal)
	}
	bounded, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	f.Close(bounded)
	if bounded.Err() != nil {
		t.Error("the survey did not end")
	}
	<-gone
	if views, _ := f.Views(t.Context(), kit.Call("")); views[0].Known() || f.Requests.Load() > 2 {
		t.Error("a relay that is closed reads on")
	}
}

func TestPeekingReadsNothing(t *testing.T) {
	f := kit.New(t, "", "")
	if view := f.Peek(t.Context(), kit.Call("")); view.Known() || view.Tools() != nil || f.Requests.Load() != 0 {
		t.Errorf("%d requests", f.Requests.Load())
	}
	c := kit.Call("")
	c.Server = "other"
	if view := f.Peek(t.Context(), c); view.Known() || view.Prompts() != nil {
		t.Error("a server that nobody registered is shown")
	}
}
