package dynamo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/catalog"
	"mcprelay/shared/store/dynamo"
)

// table is a registry table that keeps what a catalog needs of DynamoDB.
type table struct {
	mu    sync.Mutex
	items map[string]map[string]value // by sort key
	// before is called, where set, before a request is carried out, and stops
	// it with an AWS error where it gives one.
	before func(r request) (kind string)
}

func (d *table) answer(w http.ResponseWriter, r request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.before != nil {
		if kind := d.before(r); kind != "" {
			fails(http.StatusBadRequest, kind)(w, r)
			return
		}
	}
	switch r.Operation {
	case "GetItem":
		reply(w, map[string]any{"Item": d.items[r.Key["sk"]["S"]]})
	case "DeleteItem":
		delete(d.items, r.Key["sk"]["S"])
		reply(w, nil)
	case "PutItem":
		there, exists := d.items[r.Item["sk"]["S"]]
		was, versioned := r.ExpressionAttributeValues[":was"]
		if exists && !versioned || versioned && there["rev"]["N"] != was["N"] {
			fails(http.StatusBadRequest, "ConditionalCheckFailedException")(w, r)
			return
		}
		d.items[r.Item["sk"]["S"]] = r.Item
		reply(w, nil)
	case "Query":
		var found []map[string]value
		for _, sort := range d.sorts() {
			if strings.HasPrefix(sort, r.ExpressionAttributeValues[":sk"]["S"]) {
				found = append(found, d.items[sort])
			}
		}
		reply(w, map[string]any{"Items": found, "Count": len(found)})
	}
}

func reply(w http.ResponseWriter, document any) {
	if document == nil {
		document = map[string]any{}
	}
	text, err := json.Marshal(document)
	if err == nil {
		_, err = w.Write(text)
	}
	if err != nil {
		_, _ = io.WriteString(w, err.Error())
	}
}

func (d *table) sorts() []string { return slices.Sorted(maps.Keys(d.items)) }

func newTable(t *testing.T) (*table, *fake) {
	d := &table{items: map[string]map[string]value{}}
	return d, newFake(t, d.answer)
}

func catalogOf(n int, mark string) catalog.Catalog {
	c := catalog.Catalog{Origin: "o"}
	for i := range n {
		name := fmt.Sprint("t", i)
		c.Tools = append(c.Tools, catalog.Tool{Name: name, Raw: json.RawMessage(fmt.Sprintf(`{"name":%q,"of":%q}`, name, mark))})
	}
	return c
}

func putCatalog(t *testing.T, s *dynamo.Store, c catalog.Catalog) catalog.Catalog {
	t.Helper()
	stored, err := s.PutCatalog(t.Context(), "acme", "docs", c)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func TestCatalogIsOneItemADescriptorAndOneThatNamesThem(t *testing.T) {
	d, f := newTable(t)
	c := catalogOf(3, "x").Approved("t1")
	c.Prompts = []catalog.Item{{Name: "p", Raw: json.RawMessage(`{"name":"p"}`)}}
	putCatalog(t, newStore(f.url, nil), c)
	sorts := d.sorts()
	if len(sorts) != 6 || sorts[0] != "ACTIVE" || d.items["ACTIVE"]["count"]["N"] != "5" {
		t.Fatalf("got items %q, want ACTIVE with the count of 5, the pins, three tools and a prompt", sorts)
	}
	var lists []string
	for i, sort := range sorts[1:] {
		lists = append(lists, d.items[sort]["list"]["S"])
		if want := "W#" + d.items["ACTIVE"]["gen"]["S"] + fmt.Sprintf("#%05d", i); sort != want {
			t.Errorf("got sort key %s, want %s", sort, want)
		}
		if i := d.items[sort]; i["pk"]["S"] != "C#acme#docs" || i["rev"]["N"] != "1" || i["exp"] != nil {
			t.Errorf("got item %v, want it under C#acme#docs with its revision and no expiry", i)
		}
	}
	if diff := cmp.Diff([]string{"pins", "tools", "tools", "tools", "prompts"}, lists); diff != "" {
		t.Errorf("lists (-want +got):\n%s", diff)
	}
	for _, r := range f.asked() {
		if r.TableName != "r" {
			t.Errorf("%s asked the table %s", r.Operation, r.TableName)
		}
	}
}

func TestCatalogThatIsReplacedGoes(t *testing.T) {
	d, f := newTable(t)
	s := newStore(f.url, nil)
	c := putCatalog(t, s, catalogOf(5, "first"))
	c.Tools = catalogOf(2, "second").Tools
	c = putCatalog(t, s, c)
	if got := len(d.items); got != 4 {
		t.Errorf("got items %q, want ACTIVE, the pins and the two tools", d.sorts())
	}
	got, err := s.Catalog(t.Context(), "acme", "docs")
	if diff := cmp.Diff(c, got); err != nil || diff != "" {
		t.Errorf("got %v, catalog (-want +got):\n%s", err, diff)
	}
}

// The loser of a race wrote its tools before it lost.
func TestToolsOfALostRaceGo(t *testing.T) {
	d, f := newTable(t)
	s := newStore(f.url, nil)
	first := putCatalog(t, s, catalogOf(2, "first"))
	d.before = func(r request) string {
		if r.Operation == "PutItem" && r.Item["sk"]["S"] == "ACTIVE" { // somebody else is faster
			d.items["ACTIVE"]["rev"] = value{"N": "2"}
		}
		return ""
	}
	change := first
	change.Tools = catalogOf(3, "late").Tools
	if _, err := s.PutCatalog(t.Context(), "acme", "docs", change); !errors.Is(err, catalog.ErrConflict) {
		t.Errorf("got %v, want %v", err, catalog.ErrConflict)
	}
	if got := len(d.items); got != 4 {
		t.Errorf("got items %q, want those of the winner", d.sorts())
	}
}

func TestStaleReplacementWritesNothing(t *testing.T) {
	d, f := newTable(t)
	s := newStore(f.url, nil)
	putCatalog(t, s, catalogOf(2, "first"))
	d.before = func(r request) string {
		if r.Operation == "PutItem" || r.Operation == "DeleteItem" {
			t.Errorf("a stale replacement asked for %s", r.Operation)
		}
		return ""
	}
	if _, err := s.PutCatalog(t.Context(), "acme", "docs", catalogOf(9, "stale")); !errors.Is(err, catalog.ErrConflict) {
		t.Errorf("got %v, want %v", err, catalog.ErrConflict)
	}
}

// A writer that was killed between its tools and ACTIVE leaves them behind.
func TestToolsOfAKilledWriterGoAfterAnHour(t *testing.T) {
	d, f := newTable(t)
	now := time.Now()
	s := newStore(f.url, func() time.Time { return now })
	c := putCatalog(t, s, catalogOf(1, "first"))
	d.before = func(r request) string {
		if r.Item["sk"]["S"] == "ACTIVE" {
			return "AccessDeniedException"
		}
		return ""
	}
	if _, err := s.PutCatalog(t.Context(), "acme", "docs", c); err == nil {
		t.Fatal("got no error")
	}
	d.before = nil
	if got := len(d.items); got != 5 {
		t.Fatalf("got items %q, want the pins and the tool of the write that may have been done", d.sorts())
	}
	c = putCatalog(t, s, c)
	if got := len(d.items); got != 5 {
		t.Errorf("within the hour: got items %q, want what somebody may be about to name", d.sorts())
	}
	now = now.Add(61 * time.Minute)
	c = putCatalog(t, s, c)
	if got := len(d.items); got != 3 {
		t.Errorf("after the hour: got items %q, want ACTIVE, the pins and one tool", d.sorts())
	}
	if got, err := s.Catalog(t.Context(), "acme", "docs"); err != nil || len(got.Tools) != 1 || got.Version != c.Version {
		t.Errorf("got %+v and %v, want version %d", got, err, c.Version)
	}
}

func TestReplacementThatCannotSweepIsDone(t *testing.T) {
	d, f := newTable(t)
	s := newStore(f.url, nil)
	c := putCatalog(t, s, catalogOf(2, "first"))
	d.before = func(r request) string {
		if r.Operation == "DeleteItem" {
			return "AccessDeniedException"
		}
		return ""
	}
	c.Tools = catalogOf(1, "second").Tools
	c = putCatalog(t, s, c)
	got, err := s.Catalog(t.Context(), "acme", "docs")
	if diff := cmp.Diff(c, got); err != nil || diff != "" {
		t.Errorf("got %v, catalog (-want +got):\n%s", err, diff)
	}
}

// What is read is replaced between ACTIVE and its tools.
func TestReaderThatIsOvertakenReadsAgain(t *testing.T) {
	d, f := newTable(t)
	s := newStore(f.url, nil)
	first := putCatalog(t, s, catalogOf(2, "first"))
	second := first
	second.Tools = catalogOf(4, "second").Tools
	overtaken := false
	d.before = func(r request) string {
		if r.Operation != "Query" || overtaken {
			return ""
		}
		overtaken = true
		d.mu.Unlock()
		defer d.mu.Lock()
		var err error
		if second, err = s.PutCatalog(context.Background(), "acme", "docs", second); err != nil {
			t.Error(err)
		}
		return ""
	}
	got, err := s.Catalog(t.Context(), "acme", "docs")
	if diff := cmp.Diff(second, got); err != nil || diff != "" {
		t.Errorf("got %v, catalog (-want +got):\n%s", err, diff)
	}
}

func TestReaderThatIsAlwaysOvertakenFails(t *testing.T) {
	d, f := newTable(t)
	s := newStore(f.url, nil)
	putCatalog(t, s, catalogOf(2, "first"))
	generation := 0
	d.before = func(r request) string {
		if r.Operation == "GetItem" {
			generation++
			d.items["ACTIVE"]["gen"] = value{"S": fmt.Sprint("gone-", generation)}
		}
		return ""
	}
	if got, err := s.Catalog(t.Context(), "acme", "docs"); err == nil || !strings.Contains(err.Error(), "replaced again and again") {
		t.Errorf("got %+v and %v, want an error", got, err)
	}
	if generation > 5 {
		t.Errorf("it was read %d times", generation)
	}
}

// A restored or damaged table must not keep a server out for good.
func TestCatalogWhoseToolsAreGoneCanBeReplaced(t *testing.T) {
	d, f := newTable(t)
	s := newStore(f.url, nil)
	c := putCatalog(t, s, catalogOf(3, "first"))
	delete(d.items, d.sorts()[2])
	got, err := s.Catalog(t.Context(), "acme", "docs")
	if diff := cmp.Diff(catalog.Catalog{Version: c.Version}, got); err != nil || diff != "" {
		t.Fatalf("got %v, catalog (-want +got):\n%s", err, diff)
	}
	got.Tools = c.Tools
	c = putCatalog(t, s, got)
	if got, err := s.Catalog(t.Context(), "acme", "docs"); err != nil || len(got.Tools) != 3 || got.Version != c.Version {
		t.Errorf("got %+v and %v, want the three tools", got, err)
	}
	if got := len(d.items); got != 5 {
		t.Errorf("got items %q, want ACTIVE, the pins and three tools", d.sorts())
	}
}

// Such a catalog has no digests, so nobody could tell what was approved.
func TestCatalogOfTheFormatBeforeIsReplacedByItsVersion(t *testing.T) {
	d, f := newTable(t)
	s := newStore(f.url, nil)
	pk := value{"S": "C#acme#docs"}
	d.items = map[string]map[string]value{
		"ACTIVE":     {"pk": pk, "sk": {"S": "ACTIVE"}, "gen": {"S": "01"}, "count": {"N": "1"}, "rev": {"N": "4"}, "body": {"S": `{"origin":"o"}`}},
		"V#01#00000": {"pk": pk, "sk": {"S": "V#01#00000"}, "tool": {"S": "a"}, "rev": {"N": "4"}, "body": {"S": `{"name":"a"}`}},
	}
	got, err := s.Catalog(t.Context(), "acme", "docs")
	if diff := cmp.Diff(catalog.Catalog{Version: 4}, got); err != nil || diff != "" {
		t.Fatalf("got %v, catalog (-want +got):\n%s", err, diff)
	}
	got.Tools = catalogOf(1, "x").Tools
	got = putCatalog(t, s, got)
	if read, err := s.Catalog(t.Context(), "acme", "docs"); err != nil || read.Version != 5 || !cmp.Equal(got, read) {
		t.Errorf("got %+v and %v, want %+v", read, err, got)
	}
	if len(d.items) != 3 || d.items["V#01#00000"] != nil {
		t.Errorf("got items %q, want none of the format before", d.sorts())
	}
}

func TestCatalogThatCannotBeReadIsAnError(t *testing.T) {
	for name, spoil := range map[string]func(d *table){
		"header": func(d *table) { d.items["ACTIVE"]["body"] = value{"S": "{"} },
		"pins":   func(d *table) { d.items[d.sorts()[1]]["body"] = value{"S": "{"} },
		"packed": func(d *table) { d.items[d.sorts()[2]]["zip"] = value{"B": "AAAA"} },
	} {
		d, f := newTable(t)
		s := newStore(f.url, nil)
		putCatalog(t, s, catalogOf(1, "x"))
		spoil(d)
		if _, err := s.Catalog(t.Context(), "acme", "docs"); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	for _, operation := range []string{"GetItem", "Query", "PutItem"} {
		d, f := newTable(t)
		s := newStore(f.url, nil)
		c := putCatalog(t, s, catalogOf(1, "x"))
		d.before = func(r request) string {
			if r.Operation == operation {
				return "AccessDeniedException"
			}
			return ""
		}
		_, readErr := s.Catalog(t.Context(), "acme", "docs")
		_, writeErr := s.PutCatalog(t.Context(), "acme", "docs", c)
		if read := operation != "PutItem"; read != (readErr != nil) {
			t.Errorf("%s fails: reading gave %v", operation, readErr)
		}
		if write := operation != "Query"; write != (writeErr != nil) { // a sweep that fails is none
			t.Errorf("%s fails: writing gave %v", operation, writeErr)
		}
	}
}
