package catalog_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/catalog"

	"github.com/google/go-cmp/cmp"
)

// offering is a catalog of a place with tools, written as name and description.
func offering(place string, tools ...string) catalog.Catalog {
	c := catalog.Catalog{Place: place, Acquired: time.Unix(1, 0)}
	for _, tool := range tools {
		name, text, _ := strings.Cut(tool, " ")
		c.Tools = append(c.Tools, catalog.Tool{Name: name, Digest: "digest of " + text})
	}
	return c
}

// held are the tools that are held back, and why.
func held(c catalog.Catalog) map[string]string {
	all := map[string]string{}
	for _, tool := range c.Tools {
		if why, ok := c.Held(tool.Name); ok {
			all[tool.Name] = why
		}
	}
	return all
}

func TestWhatIsApprovedByItself(t *testing.T) {
	first := offering("here", "a 1", "b 1").Pinned(false, catalog.Catalog{})
	for _, c := range []struct {
		name    string
		before  catalog.Catalog
		allowed bool
		now     catalog.Catalog
		want    map[string]string
	}{
		{"a server that was never read", catalog.Catalog{}, false, offering("here", "a 1", "b 1"), nil},
		{"the same again", first, false, offering("here", "b 1", "a 1"), nil},
		{"one that changed", first, false, offering("here", "a 2", "b 1"), map[string]string{"a": "changed"}},
		{"one that changed, of allowed ones", first, true, offering("here", "a 2", "b 1"), map[string]string{"a": "changed"}},
		{"one that is new", first, false, offering("here", "a 1", "b 1", "c 1"), map[string]string{"c": "new"}},
		{"one that is new, of allowed ones", first, true, offering("here", "a 1", "b 1", "c 1"), nil},
		{"another place", first, false, offering("there", "a 2", "c 1"), nil},
		{"another registration of the place", with(first, func(c *catalog.Catalog) { c.Origin = "other" }), false, offering("here", "a 2", "b 1"), map[string]string{"a": "changed"}},
		{"a server that had none at first", offering("here").Pinned(false, catalog.Catalog{}), false, offering("here", "a 1"), map[string]string{"a": "new"}},
		{"one that was kept without pins and place", catalog.Catalog{Version: 3, Acquired: time.Unix(1, 0)}, false, offering("here", "a 1"), nil},
		{"a name that another one had", first, false, offering("here", "b 1", "constructor 1"), map[string]string{"constructor": "new"}},
	} {
		want := c.want
		if want == nil {
			want = map[string]string{}
		}
		if diff := cmp.Diff(want, held(c.now.Pinned(c.allowed, c.before))); diff != "" {
			t.Errorf("%s: held back (-want +got):\n%s", c.name, diff)
		}
	}
}

func with(c catalog.Catalog, change func(*catalog.Catalog)) catalog.Catalog {
	change(&c)
	return c
}

// A tool that goes away for a while is not a new one when it is back.
func TestPinsOutliveTheirTools(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		c := offering("here", "a 1", "b 1").Pinned(allowed, catalog.Catalog{})
		c = offering("here", "b 1").Pinned(allowed, c)
		c = offering("here", "a 2", "b 1").Pinned(allowed, c)
		if diff := cmp.Diff(map[string]string{"a": "changed"}, held(c)); diff != "" {
			t.Errorf("allowed %v: held back (-want +got):\n%s", allowed, diff)
		}
		if c = offering("here", "a 1").Pinned(allowed, c); len(held(c)) != 0 {
			t.Errorf("allowed %v: got %v, want the old description back", allowed, held(c))
		}
	}
}

func TestWhatIsHeldIsApprovedByName(t *testing.T) {
	first := offering("here", "a 1", "b 1", "c 1").Pinned(false, catalog.Catalog{})
	c := offering("here", "a 2", "b 2", "c 1", "d 1").Pinned(false, first)
	before := maps.Clone(c.Pins)
	for _, step := range []struct {
		names []string
		want  map[string]string
	}{
		{[]string{"a"}, map[string]string{"b": "changed", "d": "new"}},
		{[]string{"a", "d"}, map[string]string{"b": "changed"}},
		{[]string{"none of that name"}, map[string]string{"a": "changed", "b": "changed", "d": "new"}},
		{nil, map[string]string{}},
	} {
		got := c.Approved(step.names...)
		if diff := cmp.Diff(step.want, held(got)); diff != "" {
			t.Errorf("%q: held back (-want +got):\n%s", step.names, diff)
		}
		if len(held(offering("here", "a 2", "b 2", "c 1", "d 1").Pinned(false, got))) != len(step.want) {
			t.Errorf("%q: the approval does not outlive the next reading", step.names)
		}
		if got.Pins["none of that name"] != "" {
			t.Errorf("%q: a tool that is not there is approved", step.names)
		}
	}
	if diff := cmp.Diff(before, c.Pins); diff != "" {
		t.Errorf("approving changed the catalog that it began with (-want +got):\n%s", diff)
	}
}

func TestPinningLeavesWhatWasStoredAlone(t *testing.T) {
	first := offering("here", "a 1").Pinned(true, catalog.Catalog{})
	later := offering("here", "a 1", "b 1").Pinned(true, first)
	if len(first.Pins) != 1 || len(later.Pins) != 2 {
		t.Errorf("got pins %v of the stored one and %v of the later", first.Pins, later.Pins)
	}
}

func TestOnlyWhatIsThereIsHeld(t *testing.T) {
	c := offering("here", "a 1")
	if why, ok := c.Held("a"); !ok || why != catalog.HeldNew {
		t.Errorf("a catalog without pins: got %q, %v, want %s", why, ok, catalog.HeldNew)
	}
	for _, name := range []string{"", "b", "A"} {
		if why, ok := c.Held(name); ok {
			t.Errorf("%q is held: %s", name, why)
		}
	}
	if tools, _ := catalog.Tools(raw(`{"name":"a","inputSchema":{}}`, `{"name":"b","inputSchema":{}}`), usable); tools[0].Digest == "" || tools[0].Digest == tools[1].Digest {
		t.Errorf("got digests %q and %q, want two", tools[0].Digest, tools[1].Digest)
	}
}
