package contract_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
)

func catalogChecks() []check {
	return []check{
		{"a server without a catalog has the zero one", nothing, noCatalog},
		{"a catalog is read back byte for byte, in order", nothing, catalogIsReadBack},
		{"a catalog is replaced over its version only", nothing, catalogVersions},
		{"a catalog is replaced whole", nothing, catalogReplaced},
		{"a catalog without tools is not none", nothing, emptyCatalog},
		{"a catalog without pins is not one that approved nothing yet", nothing, catalogPins},
		{"a server sees its own catalog only", nothing, catalogOwners},
		{"a catalog of nobody is refused", nothing, catalogOfNobody},
		{"a descriptor over 350 KB is kept if it can be compressed", nothing, largeDescriptor},
		{"a descriptor that no item can hold is refused by its name", nothing, hugeDescriptor},
		{"a catalog of over a thousand items in a list, or 16 MB, is refused", nothing, catalogBound},
		{"a catalog of many pages is read whole", nothing, catalogOfPages},
		{"one of many replacements of a catalog wins, whole", concurrency, catalogRace},
		{"readers never see part of a catalog", concurrency, catalogReaders},
	}
}

// tools are n tools whose descriptors name them and a mark.
func tools(n int, mark string) []catalog.Tool {
	var list []catalog.Tool
	for i := range n {
		name := fmt.Sprintf("tool-%d", n-i) // not in the order of names
		list = append(list, catalog.Tool{Name: name, Raw: json.RawMessage(fmt.Sprintf(`{"name":%q,"inputSchema":{},"description":%q}`, name, mark))})
	}
	return list
}

func catalogOf(t *testing.T, s store, tenant string) catalog.Catalog {
	t.Helper()
	c, err := s.Catalog(t.Context(), tenant, "docs")
	must(t, err)
	return c
}

func putCatalog(t *testing.T, s store, tenant string, c catalog.Catalog) catalog.Catalog {
	t.Helper()
	c, err := s.PutCatalog(t.Context(), tenant, "docs", c)
	must(t, err)
	return c
}

func wantCatalog(t *testing.T, got, want catalog.Catalog) {
	t.Helper()
	whole := cmp.Comparer(func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
	if diff := cmp.Diff(want, got, whole, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("catalog (-want +got):\n%s", diff)
	}
}

func noCatalog(t *testing.T, _ peer, s store) {
	wantCatalog(t, catalogOf(t, s, newTenant()), catalog.Catalog{})
}

func catalogIsReadBack(t *testing.T, p peer, s store) {
	tenant := newTenant()
	c := catalog.Catalog{
		Origin: "3f2a", Place: "9c\x00", Acquired: now(), Listed: now().Add(time.Second),
		Offers: call.Announced | call.OffersTools | call.OffersPrompts, Instructions: "Ask first.\n<&>\u2028\"\ufffd",
		Skips: []catalog.Skip{
			{List: call.ListTools, Name: "b", Reason: "a tool of this name came before"},
			{List: call.ListTemplates, Name: "urn:{x}", Reason: "it has no name"}, {Reason: "it has no name"},
		},
		Pins: map[string]string{"z": "aa", "Zo\u00eb #1": "bb", "gone": "cc", "__proto__": ""},
		Tools: []catalog.Tool{
			{Name: "z", Digest: strings.Repeat("0a", 32), Raw: json.RawMessage(`{ "inputSchema":{"n":1.0, "big":9007199254740993 } , "name" : "z","x":"<&>\u2028\u0000"}`)},
			{Name: "Zoë #1", Raw: json.RawMessage("{\n\t\"name\":\"Zo\\u00eb #1\"}")},
			{Name: "a", Raw: json.RawMessage("{\"name\":\"a\",\"broken\":\"\xff\"}")}, // bytes are bytes
			{Name: "constructor", Raw: json.RawMessage(`{"name":"constructor"}`)},
		},
		Resources: []catalog.Item{{Name: "urn:z#1", Raw: json.RawMessage(`{"uri":"urn:z#1" , "size":1.0}`)}, {Name: strings.Repeat("u", 8000), Raw: json.RawMessage(`{}`)}},
		Templates: []catalog.Item{{Name: "urn:{x}", Raw: json.RawMessage("{\"uriTemplate\":\"\xff\"}")}},
		Prompts:   []catalog.Item{{Name: "z", Raw: json.RawMessage(`{"name":"z"}`)}, {Name: "a", Raw: json.RawMessage(`{ "name":"a"}`)}},
	}
	stored := putCatalog(t, s, tenant, c)
	if c.Version = stored.Version; c.Version == 0 {
		t.Error("a stored catalog has version 0")
	}
	wantCatalog(t, stored, c)
	wantCatalog(t, catalogOf(t, s, tenant), c)
	wantCatalog(t, catalogOf(t, p.open(t), tenant), c)
}

func catalogVersions(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	_, err := s.PutCatalog(t.Context(), tenant, "docs", catalog.Catalog{Version: 3, Tools: tools(1, "none there")})
	wantErr(t, err, catalog.ErrConflict)
	wantCatalog(t, catalogOf(t, s, tenant), catalog.Catalog{})
	first := putCatalog(t, s, tenant, catalog.Catalog{Tools: tools(2, "first")})
	change := first
	change.Tools = tools(3, "second")
	second := putCatalog(t, s, tenant, change)
	if second.Version == first.Version {
		t.Errorf("both have version %d", first.Version)
	}
	for _, stale := range []int64{0, first.Version, second.Version + 1, -1} {
		_, err := s.PutCatalog(t.Context(), tenant, "docs", catalog.Catalog{Version: stale, Tools: tools(1, "stale")})
		wantErr(t, err, catalog.ErrConflict)
	}
	wantCatalog(t, catalogOf(t, s, tenant), second)
}

func catalogReplaced(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	c := catalog.Catalog{
		Origin: "old", Place: "old", Instructions: "old", Skips: []catalog.Skip{{Name: "x", Reason: "y"}}, Acquired: now(), Listed: now(),
		Resources: []catalog.Item{{Name: "urn:a", Raw: json.RawMessage(`{}`)}}, Pins: map[string]string{"old": "x"},
	}
	for _, n := range []int{5, 2, 9, 1} {
		c.Tools = tools(n, fmt.Sprint("of ", n))
		c = putCatalog(t, s, tenant, c)
		c = catalog.Catalog{Version: c.Version}
	}
	c.Tools = tools(1, "of 1")
	wantCatalog(t, catalogOf(t, s, tenant), c)
}

func emptyCatalog(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	stored := putCatalog(t, s, tenant, catalog.Catalog{Origin: "o", Acquired: now()})
	wantCatalog(t, catalogOf(t, s, tenant), stored)
	if stored.Version == 0 {
		t.Error("it has the version of none")
	}
}

// What nobody approved must not look approved after it was stored.
func catalogPins(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	c := catalog.Catalog{Place: "here", Acquired: now(), Tools: tools(2, "x")}
	for i := range c.Tools {
		c.Tools[i].Digest = c.Tools[i].Name + " 1"
	}
	c = putCatalog(t, s, tenant, c.Pinned(false, catalogOf(t, s, tenant)))
	wantHeld(t, catalogOf(t, s, tenant), "", "")
	c.Tools = append(c.Tools[:1:1], catalog.Tool{Name: "tool-1", Raw: json.RawMessage(`{}`), Digest: "changed"}, catalog.Tool{Name: "n", Raw: json.RawMessage(`{}`), Digest: "n"})
	c = putCatalog(t, s, tenant, c.Pinned(false, catalogOf(t, s, tenant)))
	wantHeld(t, catalogOf(t, s, tenant), "", catalog.HeldChanged, catalog.HeldNew)
	c = putCatalog(t, s, tenant, catalogOf(t, s, tenant).Approved("n"))
	wantHeld(t, catalogOf(t, s, tenant), "", catalog.HeldChanged, "")
	c.Tools, c.Origin = nil, "other"
	c = putCatalog(t, s, tenant, c.Pinned(false, catalogOf(t, s, tenant)))
	if len(catalogOf(t, s, tenant).Pins) != 3 {
		t.Errorf("got pins %v, want those of the tools that are gone", catalogOf(t, s, tenant).Pins)
	}
}

// wantHeld wants each tool to be held back for a reason, or not.
func wantHeld(t *testing.T, c catalog.Catalog, want ...string) {
	t.Helper()
	var got []string
	for _, tool := range c.Tools {
		why, _ := c.Held(tool.Name)
		got = append(got, why)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("held back (-want +got):\n%s", diff)
	}
}

func catalogOwners(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	mine := putCatalog(t, s, tenant, catalog.Catalog{Tools: tools(2, "mine")})
	for _, other := range [][2]string{
		{newTenant(), "docs"}, {tenant, "doc"}, {tenant, "docs2"}, {tenant, "docs#V"}, {tenant + "#docs", ""}, {"", "docs"}, {tenant, "Docs"},
		{tenant[:len(tenant)-1], "docs"}, {tenant + "' OR '1'='1", "docs"}, {tenant, "docs#ACTIVE"},
	} {
		got, err := s.Catalog(t.Context(), other[0], other[1])
		must(t, err)
		wantCatalog(t, got, catalog.Catalog{})
	}
	theirs, err := s.PutCatalog(t.Context(), tenant, "docs#2", catalog.Catalog{Tools: tools(1, "theirs")})
	must(t, err)
	got, err := s.Catalog(t.Context(), tenant, "docs#2")
	must(t, err)
	wantCatalog(t, got, theirs)
	wantCatalog(t, catalogOf(t, s, tenant), mine)
}

func catalogOfNobody(t *testing.T, _ peer, s store) {
	for _, of := range [][2]string{{"", "docs"}, {newTenant(), ""}} {
		if _, err := s.PutCatalog(t.Context(), of[0], of[1], catalog.Catalog{Tools: tools(1, "x")}); err == nil {
			t.Errorf("of tenant %q and server %q: kept", of[0], of[1])
		}
	}
}

// descriptor is a description of about a size, of a text that compresses or
// of one that does not.
func descriptor(name string, size int, compresses bool) catalog.Tool {
	text := strings.Repeat("the quick brown fox ", size/20)
	if !compresses {
		random, letters := rand.New(rand.NewPCG(1, 2)), []byte(text)
		for i := range letters {
			letters[i] = byte(' ' + random.IntN(2)*65 + random.IntN(26) + 1)
		}
		text = string(letters)
	}
	return catalog.Tool{Name: name, Raw: json.RawMessage(fmt.Sprintf(`{"name":%q,"description":%q}`, name, text))}
}

func largeDescriptor(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	want := putCatalog(t, s, tenant, catalog.Catalog{Tools: []catalog.Tool{
		descriptor("small", 1000, true), descriptor("large", 1<<20, true), descriptor("last", 350<<10-100, true),
	}})
	wantCatalog(t, catalogOf(t, s, tenant), want)
}

func hugeDescriptor(t *testing.T, p peer, s store) {
	tenant := newTenant()
	want := putCatalog(t, s, tenant, catalog.Catalog{Tools: tools(2, "before")})
	for name, huge := range map[string]catalog.Tool{
		"does not compress": descriptor("does-not-fit", 600<<10, false),
		"is a bomb":         descriptor("does-not-fit", 5<<20, true),
	} {
		change := want
		change.Tools = []catalog.Tool{descriptor("fits", 100, true), huge}
		_, err := s.PutCatalog(t.Context(), tenant, "docs", change)
		wantErr(t, err, p.tooLarge)
		if err == nil || !strings.Contains(err.Error(), `"does-not-fit"`) || strings.Contains(err.Error(), `"fits"`) {
			t.Errorf("%s: got %v, want it to name the tool", name, err)
		}
	}
	wantCatalog(t, catalogOf(t, s, tenant), want)
}

func catalogBound(t *testing.T, p peer, s store) {
	tenant := newTenant()
	var heavy []catalog.Tool
	for i := range 17 {
		heavy = append(heavy, descriptor(fmt.Sprint("t", i), 1<<20, true))
	}
	skips := []catalog.Skip{{Reason: string(descriptor("x", 600<<10, false).Raw)}}
	resources := make([]catalog.Item, 1025)
	for i := range resources {
		resources[i] = catalog.Item{Name: fmt.Sprint("urn:", i), Raw: json.RawMessage(`{}`)}
	}
	pins := map[string]string{"x": string(descriptor("x", 600<<10, false).Raw)}
	for name, c := range map[string]catalog.Catalog{
		"tools": {Tools: tools(1025, "x")}, "bytes": {Tools: heavy}, "skips": {Skips: skips}, "pins": {Pins: pins},
		"resources": {Resources: resources}, "bytes in all lists": {Tools: heavy[:8], Prompts: itemsOf(heavy[8:])},
	} {
		if _, err := s.PutCatalog(t.Context(), tenant, "docs", c); err == nil {
			t.Errorf("too many %s: kept", name)
		} else {
			wantErr(t, err, p.tooLarge)
		}
	}
	wantCatalog(t, catalogOf(t, s, tenant), catalog.Catalog{})
}

func itemsOf(tools []catalog.Tool) []catalog.Item {
	var items []catalog.Item
	for _, tool := range tools {
		items = append(items, catalog.Item{Name: tool.Name, Raw: tool.Raw})
	}
	return items
}

// DynamoDB gives 1 MB in one answer.
func catalogOfPages(t *testing.T, _ peer, s store) {
	tenant, c := newTenant(), catalog.Catalog{}
	for i := range 12 {
		c.Tools = append(c.Tools, descriptor(fmt.Sprint("t", i), 250<<10, true))
		c.Prompts = append(c.Prompts, itemsOf(c.Tools[i:])...)
	}
	want := putCatalog(t, s, tenant, c)
	wantCatalog(t, catalogOf(t, s, tenant), want)
}

func catalogRace(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	first := putCatalog(t, s, tenant, catalog.Catalog{Tools: tools(3, "first")})
	winners := race(t, 16, catalog.ErrConflict, func(i int) error {
		mine := first
		mine.Tools = tools(5, fmt.Sprint("of racer ", i))
		_, err := s.PutCatalog(t.Context(), tenant, "docs", mine)
		return err
	})
	got := catalogOf(t, s, tenant)
	if winners != 1 || len(got.Tools) != 5 {
		t.Fatalf("got %d winners and %d tools, want one and 5", winners, len(got.Tools))
	}
	wantOne(t, got)
}

// wantOne wants the tools of one writer, as many as they say.
func wantOne(t *testing.T, c catalog.Catalog) {
	t.Helper()
	marks := map[string]bool{}
	for _, tool := range c.Tools {
		var d struct{ Description string }
		must(t, json.Unmarshal(tool.Raw, &d))
		marks[d.Description] = true
	}
	if len(marks) > 1 {
		t.Errorf("got tools of %d catalogs in one: %v", len(marks), marks)
	}
}

func catalogReaders(t *testing.T, p peer, s store) {
	tenant := newTenant()
	c := putCatalog(t, s, tenant, catalog.Catalog{Tools: tools(1, "1")})
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		reader := p.open(t)
		wg.Go(func() {
			for running := true; running; {
				select {
				case <-done:
					running = false
				default:
				}
				got, err := reader.Catalog(t.Context(), tenant, "docs")
				if err != nil {
					t.Errorf("reading: %v", err)
					return
				}
				wantOne(t, got)
				if want := fmt.Sprint(len(got.Tools)); len(got.Tools) == 0 || !bytes.Contains(got.Tools[0].Raw, []byte(`"description":"`+want+`"`)) {
					t.Errorf("got %s of its tools in version %d", want, got.Version)
				}
			}
		})
	}
	for round := range 30 {
		n := 1 + round*7%20
		c.Tools = tools(n, fmt.Sprint(n))
		c = putCatalog(t, s, tenant, c)
	}
	close(done)
	wg.Wait()
}
