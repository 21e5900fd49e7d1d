package dynamo_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/audit"
	"mcprelay/shared/store/dynamo"
)

// trail answers queries from what was put, in pages of a size of its own, as
// DynamoDB does at 1 MB.
type trail struct {
	page int

	mu    sync.Mutex
	items []map[string]value
}

func (tr *trail) answer(w http.ResponseWriter, r request) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if r.Operation == "PutItem" {
		tr.items = append(tr.items, r.Item)
		ok(w, r)
		return
	}
	key := r.ExpressionAttributeNames["#k"]
	from := r.ExpressionAttributeValues[":high"]["S"] + "~"
	if start := r.ExclusiveStartKey["sk"]["S"]; start != "" {
		from = start
	}
	var matches []map[string]value
	for _, item := range tr.items {
		id := item["sk"]["S"]
		if item[key]["S"] == r.ExpressionAttributeValues[":k"]["S"] && id >= r.ExpressionAttributeValues[":low"]["S"] && id < from {
			matches = append(matches, item)
		}
	}
	slices.SortFunc(matches, func(a, b map[string]value) int { return strings.Compare(b["sk"]["S"], a["sk"]["S"]) })
	out := map[string]any{}
	if len(matches) > tr.page {
		matches = matches[:tr.page]
		out["LastEvaluatedKey"] = map[string]value{"sk": matches[tr.page-1]["sk"], key: matches[tr.page-1][key]}
	}
	out["Items"], out["Count"] = matches, len(matches)
	_ = json.NewEncoder(w).Encode(out)
}

// clock is the time of the queries here.
func clock() time.Time { return at.Add(time.Hour) }

func newTrail(t *testing.T, page, records int, apart time.Duration) (*dynamo.Store, *fake, []string) {
	t.Helper()
	tr := &trail{page: page}
	f := newFake(t, tr.answer)
	s := newStore(f.url, clock)
	var ids []string
	for i := range records {
		r := recordAt(at.Add(-time.Duration(i) * apart))
		if err := s.Final(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.CallID)
	}
	return s, f, ids
}

// readAll reads every page and gives the ids and how many pages there were.
func readAll(t *testing.T, s *dynamo.Store, f audit.Filter) (ids []string, pages int) {
	t.Helper()
	f.Tenant = "acme"
	for {
		records, cursor, err := s.Audit(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			ids = append(ids, r.CallID)
		}
		if pages++; cursor == "" {
			return ids, pages
		}
		if pages > 500 {
			t.Fatal("500 pages and no end")
		}
		f.Cursor = cursor
	}
}

func TestShardsAreMergedWhateverTheirPages(t *testing.T) {
	for _, page := range []int{1, 2, 5, 100} {
		s, _, want := newTrail(t, page, 40, time.Second)
		for _, f := range []audit.Filter{
			{Limit: 11}, {Limit: 39}, {Limit: 40}, {Limit: 41}, {Limit: 7, Agent: "ci"}, {Limit: 13, Server: "docs"}, {Limit: 3, Run: "run-1"},
		} {
			f.Since = at.Add(-time.Hour)
			got, _ := readAll(t, s, f)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pages of %d, %+v (-want +got):\n%s", page, f, diff)
			}
		}
	}
}

// A page costs a bounded number of requests; what it did not look at is behind
// its cursor.
func TestOnePageCostsABoundedNumberOfRequests(t *testing.T) {
	const most = 32*dynamo.Shards + dynamo.Shards // one period more may be begun
	for _, tt := range []struct {
		name    string
		records int
		apart   time.Duration
		page    int
		filter  audit.Filter
	}{
		{"an empty trail", 0, 0, 100, audit.Filter{}},
		{"a record a month", 3, 29 * 24 * time.Hour, 100, audit.Filter{}},
		{"a long day in small pages", 300, time.Second, 1, audit.Filter{Limit: 1000}},
		{"an agent's long month in small pages", 300, time.Second, 1, audit.Filter{Agent: "ci", Limit: 1000}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, f, want := newTrail(t, tt.page, tt.records, tt.apart)
			tt.filter.Tenant = "acme"
			before := len(f.asked())
			if _, _, err := s.Audit(t.Context(), tt.filter); err != nil {
				t.Fatal(err)
			}
			if got := len(f.asked()) - before; got > most {
				t.Errorf("one page took %d requests, want at most %d", got, most)
			}
			got, pages := readAll(t, s, tt.filter)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
			if pages < 2 {
				t.Errorf("got %d page, want the bound to cut it", pages)
			}
		})
	}
}

func TestQueriesAskTheNarrowestIndex(t *testing.T) {
	for _, tt := range []struct {
		filter audit.Filter
		want   string // empty for the table
	}{
		{audit.Filter{}, ""},
		{audit.Filter{Tool: "search"}, ""},
		{audit.Filter{Outcome: "answered"}, ""},
		{audit.Filter{Outcome: "refused_by_policy"}, "deny"},
		{audit.Filter{Server: "docs", Outcome: "refused_by_policy"}, "server"},
		{audit.Filter{Server: "docs", Agent: "ci"}, "agent"},
		{audit.Filter{Run: "r", Agent: "ci", Server: "docs"}, "run"},
	} {
		f := newFake(t, (&trail{page: 1}).answer)
		tt.filter.Tenant, tt.filter.Since = "acme", clock()
		if _, _, err := newStore(f.url, clock).Audit(t.Context(), tt.filter); err != nil {
			t.Fatal(err)
		}
		asked := f.asked()
		for _, r := range asked {
			if r.IndexName != tt.want || r.ConsistentRead != (tt.want == "") || r.ScanIndexForward == nil || *r.ScanIndexForward {
				t.Errorf("%+v: got index %q, consistent %v, want %q, newest first", tt.filter, r.IndexName, r.ConsistentRead, tt.want)
			}
		}
		if len(asked) == 0 || len(asked)%dynamo.Shards != 0 {
			t.Errorf("%+v: got %d requests, want one a shard", tt.filter, len(asked))
		}
	}
}

func TestAFilterWithoutATenantIsRefused(t *testing.T) {
	f := newFake(t, ok)
	if _, _, err := newStore(f.url, clock).Audit(t.Context(), audit.Filter{Agent: "ci"}); err == nil || len(f.asked()) > 0 {
		t.Errorf("got %v after %d requests, want an error and none", err, len(f.asked()))
	}
}
