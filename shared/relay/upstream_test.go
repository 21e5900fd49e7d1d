package relay_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/test/kit"
)

// region is a tool whose argument a server wants in the header of that name.
const region = `{"name":"look","inputSchema":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":%q}}}}`

// mirrored answers a call, and refuses one that lacks the header it wants.
func mirrored(header *atomic.Value) kit.Answer {
	return func(w http.ResponseWriter, r *http.Request, body map[string]json.RawMessage) {
		if r.Header.Get("Mcp-Param-"+header.Load().(string)) != "1" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32020,"message":"missing header"}}`, body["id"])
			return
		}
		kit.Result(w, body, `{"resultType":"complete","content":[]}`)
	}
}

func TestADescriptionIsReadOnceForAllCalls(t *testing.T) {
	f := kit.New(t, "", "")
	var header atomic.Value
	header.Store("Region")
	f.Answer, f.Lists = mirrored(&header), listing(fmt.Sprintf(region, "Region"))
	for range 3 {
		if _, refusal := f.Do(t.Context(), kit.Call("look")); refusal != nil {
			t.Fatal(refusal)
		}
	}
	if f.Posts.Load() != 3 || f.Requests.Load() != 5 { // discover and tools/list once
		t.Errorf("%d posts, %d requests, want 3 and 5", f.Posts.Load(), f.Requests.Load())
	}
	own := f.Recorder.Own()
	if len(own) != 1 || own[0].Operation != call.OperationDiscover || own[0].List != call.ListTools || own[0].Items != 1 || own[0].Agent != "ci" {
		t.Errorf("records %+v, want one about discover in the caller's name", own)
	}
}

func TestAStoredDescriptionIsUsedByTheNextProcess(t *testing.T) {
	first, second := kit.New(t, "", ""), kit.New(t, "", "")
	var header atomic.Value
	header.Store("Region")
	for _, f := range []*kit.Relay{first, second} {
		f.Answer, f.Lists = mirrored(&header), listing(fmt.Sprintf(region, "Region"))
	}
	if _, refusal := first.Do(t.Context(), kit.Call("look")); refusal != nil {
		t.Fatal(refusal)
	}
	stored, err := first.Catalogs.Catalog(t.Context(), "acme", "up")
	if err != nil || stored.Version != 1 {
		t.Fatalf("stored %+v, %v", stored, err)
	}
	// The registration of the second relay is the first one's: same origin.
	second.Registry.Registration = first.Registry.Registration
	stored.Version = 0
	if _, err := second.Catalogs.PutCatalog(t.Context(), "acme", "up", stored); err != nil {
		t.Fatal(err)
	}
	before := first.Requests.Load()
	if _, refusal := second.Do(t.Context(), kit.Call("look")); refusal != nil {
		t.Fatal(refusal)
	}
	if got := first.Requests.Load() - before; got != 2 {
		t.Errorf("%d requests, want discover and the call", got)
	}
}

func TestADescriptionThatChangedIsReadAgain(t *testing.T) {
	f := kit.New(t, `,"pin":"warn"`, "")
	var header atomic.Value
	header.Store("Region")
	f.Answer = mirrored(&header)
	f.Lists = func(w http.ResponseWriter, r *http.Request, body map[string]json.RawMessage) {
		listing(fmt.Sprintf(region, header.Load().(string)))(w, r, body)
	}
	if _, refusal := f.Do(t.Context(), kit.Call("look")); refusal != nil {
		t.Fatal(refusal)
	}
	header.Store("Zone")
	if _, refusal := f.Do(t.Context(), kit.Call("look")); refusal != nil {
		t.Fatal(refusal)
	}
	if f.Posts.Load() != 3 || len(f.Recorder.Own()) != 2 {
		t.Errorf("%d posts, %d acquisitions, want 3 and 2", f.Posts.Load(), len(f.Recorder.Own()))
	}
}

func TestADescriptionThatChangedUnderAPinIsNotFollowed(t *testing.T) {
	f := kit.New(t, "", "")
	var header atomic.Value
	header.Store("Region")
	f.Answer = mirrored(&header)
	f.Lists = func(w http.ResponseWriter, r *http.Request, body map[string]json.RawMessage) {
		listing(fmt.Sprintf(region, header.Load().(string)))(w, r, body)
	}
	if _, refusal := f.Do(t.Context(), kit.Call("look")); refusal != nil {
		t.Fatal(refusal)
	}
	header.Store("Zone")
	for range 2 {
		_, refusal := f.Do(t.Context(), kit.Call("look"))
		kit.WantReason(t, refusal, call.ToolHeld)
	}
	if f.Posts.Load() != 2 {
		t.Errorf("%d posts, want the first call's and the one whose headers were refused", f.Posts.Load())
	}
}

func TestHeadersThatAreRefusedForNoReasonAreNotTriedAgain(t *testing.T) {
	f := kit.New(t, "", "")
	var header atomic.Value
	header.Store("Other")
	f.Answer, f.Lists = mirrored(&header), listing(fmt.Sprintf(region, "Region"))
	_, refusal := f.Do(t.Context(), kit.Call("look"))
	kit.WantReason(t, refusal, call.HeadersRefused)
	if f.Posts.Load() != 1 || refusal.MayHaveRun() != call.ImpactNone {
		t.Errorf("%d posts, effect %s, want 1 and none", f.Posts.Load(), refusal.MayHaveRun())
	}
}

func TestAToolThatCannotBeDescribedIsNotCalled(t *testing.T) {
	f := kit.New(t, "", "")
	f.Lists = listing(`{"name":"look","inputSchema":{"type":"object","properties":{"n":{"type":"object","x-mcp-header":"N"}}}},{"name":"change","inputSchema":{"type":"object"}}`)
	_, refusal := f.Do(t.Context(), kit.Call("look"))
	kit.WantReason(t, refusal, call.ToolUnusable)
	if _, refusal := f.Do(t.Context(), kit.Call("change")); refusal != nil {
		t.Errorf("the other tool is lost: %v", refusal)
	}
	if f.Posts.Load() != 1 {
		t.Errorf("%d posts, want 1", f.Posts.Load())
	}
	own := f.Recorder.Own()
	if len(own) != 1 || own[0].Skipped != 1 || len(own[0].Skips) != 1 || own[0].Skips[0].Name != "look" {
		t.Errorf("records %+v, want the skip named", own)
	}
}

func TestAListThatCannotBeReadRefusesTheCallThatNeedsIt(t *testing.T) {
	f := kit.New(t, "", "")
	f.Lists = func(w http.ResponseWriter, _ *http.Request, _ map[string]json.RawMessage) {
		w.WriteHeader(http.StatusInternalServerError)
	}
	_, refusal := f.Do(t.Context(), kit.Call("change"))
	kit.WantReason(t, refusal, call.ListFailed)
	if f.Posts.Load() != 0 || refusal.MayHaveRun() != call.ImpactNone {
		t.Errorf("%d posts, effect %s, want 0 and none", f.Posts.Load(), refusal.MayHaveRun())
	}
}

func TestSkipsAreBoundedInTheRecord(t *testing.T) {
	f := kit.New(t, `,"max_tools":64`, "")
	odd := strings.Repeat(`{"name":"`+strings.Repeat("x", 100)+`"},`, 40)
	f.Lists = listing(odd + `{"name":"look","inputSchema":{}}`)
	answer, refusal := f.Acquire(t.Context(), kit.Call(""))
	answer.Settle()
	if refusal != nil {
		t.Fatal(refusal)
	}
	if r := f.Recorder.Only(t); r.Skipped != 40 || len(r.Skips) != audit.MaxSkips || r.Items != 1 {
		t.Errorf("%d skipped, %d named, %d usable, want 40, %d, 1", r.Skipped, len(r.Skips), r.Items, audit.MaxSkips)
	}
}

func TestMoreServersThanOneCallerIsOfferedAreRefused(t *testing.T) {
	f := kit.New(t, "", `,"max_servers":1`)
	up := *f.Registry.Registration.Servers["up"]
	up.Name = "also"
	f.Registry.Registration.Servers["also"] = &up
	_, refusal := f.Do(t.Context(), kit.Call("look"))
	kit.WantReason(t, refusal, call.TooManyServers)
	if got := f.Requests.Load(); got != 0 {
		t.Errorf("%d requests, want 0", got)
	}
}
