package contract_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
)

func queryChecks() []check {
	return []check{
		{"every filter selects what it says", nothing, everyFilter},
		{"since is inclusive and until is exclusive", nothing, sinceAndUntil},
		{"records come newest first, whatever order they were written in", nothing, newestFirst},
		{"records of other days and months are found", manyReads, otherMonths},
		{"pages hold every record once", nothing, pages},
		{"pages of a filter hold every match once", nothing, filteredPages},
		{"a page is as large as asked for, 100 where nothing was asked", manyReads, pageSizes},
		{"pages stay good while records arrive", nothing, stablePages},
		{"a cursor that was never given is refused", nothing, strangeCursor},
		{"an expired record is not read", nothing, expiredRecord},
		{"a tenant sees its own records only", nothing, tenantRecords},
		{"names cannot reach into another tenant", nothing, forgedNames},
		{"refusals are found by outcome, among much else", nothing, refusals},
		{"another handle sees what was written", nothing, otherHandle},
	}
}

// variety writes finals that differ in one thing each and gives them by name.
func variety(t *testing.T, s store, tenant string) map[string]audit.Record {
	t.Helper()
	at := now()
	all := map[string]audit.Record{}
	for i, v := range []struct {
		name   string
		change func(*audit.Record)
	}{
		{"plain", func(*audit.Record) {}},
		{"agent", func(r *audit.Record) { r.Agent = "other" }},
		{"server", func(r *audit.Record) { r.Server = "files" }},
		{"tool", func(r *audit.Record) { r.Tool = "fetch" }},
		{"run", func(r *audit.Record) { r.Run = "run-1" }},
		{"outcome", func(r *audit.Record) { r.Outcome = call.NoAnswer }},
		{"denied", func(r *audit.Record) { r.Decision, r.Outcome = call.Deny, call.RefusedByPolicy }},
		{"all", func(r *audit.Record) {
			r.Agent, r.Server, r.Tool, r.Run, r.Outcome = "other", "files", "fetch", "run-1", call.NoAnswer
		}},
	} {
		r := final(intent(tenant, at.Add(time.Duration(i)*time.Millisecond)))
		v.change(&r)
		must(t, s.Final(t.Context(), r))
		all[v.name] = r
	}
	return all
}

func everyFilter(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	all := variety(t, s, tenant)
	for _, tt := range []struct {
		name   string
		filter audit.Filter
		want   string // newest first
	}{
		{"none", audit.Filter{}, "all denied outcome run tool server agent plain"},
		{"agent", audit.Filter{Agent: "other"}, "all agent"},
		{"server", audit.Filter{Server: "files"}, "all server"},
		{"tool", audit.Filter{Tool: "fetch"}, "all tool"},
		{"run", audit.Filter{Run: "run-1"}, "all run"},
		{"outcome", audit.Filter{Outcome: call.NoAnswer}, "all outcome"},
		{"refused", audit.Filter{Outcome: call.RefusedByPolicy}, "denied"},
		{"agent and server", audit.Filter{Agent: "ci", Server: "files"}, "server"},
		{"server and tool", audit.Filter{Server: "docs", Tool: "fetch"}, "tool"},
		{"agent and outcome", audit.Filter{Agent: "ci", Outcome: call.NoAnswer}, "outcome"},
		{"agent and refused", audit.Filter{Agent: "ci", Outcome: call.RefusedByPolicy}, "denied"},
		{"run and agent", audit.Filter{Run: "run-1", Agent: "ci"}, "run"},
		{"everything", audit.Filter{Agent: "other", Server: "files", Tool: "fetch", Run: "run-1", Outcome: call.NoAnswer}, "all"},
		{"nothing matches", audit.Filter{Agent: "other", Server: "docs", Tool: "fetch"}, ""},
		{"unknown agent", audit.Filter{Agent: "nobody"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.filter.Tenant, tt.filter.Since = tenant, time.Now().Add(-time.Hour)
			var want []audit.Record
			for _, name := range strings.Fields(tt.want) {
				want = append(want, all[name])
			}
			wantRecords(t, read(t, s, tt.filter), want...)
		})
	}
}

func sinceAndUntil(t *testing.T, _ peer, s store) {
	tenant, at := newTenant(), now().Add(-time.Minute)
	var all []audit.Record
	for i := range 4 {
		r := final(intent(tenant, at.Add(time.Duration(i)*time.Millisecond)))
		// To the microsecond within the millisecond of the id.
		r.Time = r.Time.Add(500 * time.Microsecond)
		must(t, s.Final(t.Context(), r))
		all = append(all, r)
	}
	f := audit.Filter{Tenant: tenant, Since: all[1].Time, Until: all[3].Time}
	wantRecords(t, read(t, s, f), all[2], all[1])
	f.Since = f.Since.Add(time.Microsecond)
	wantRecords(t, read(t, s, f), all[2])
	f.Agent = "ci"
	wantRecords(t, read(t, s, f), all[2])
	f.Until = f.Since
	wantRecords(t, read(t, s, f))
	f.Until = f.Since.Add(-time.Hour)
	wantRecords(t, read(t, s, f))
}

func newestFirst(t *testing.T, _ peer, s store) {
	tenant, at := newTenant(), now().Add(-time.Minute)
	var all []audit.Record
	for i := range 12 {
		all = append(all, final(intent(tenant, at.Add(time.Duration(i)*time.Second))))
	}
	for _, i := range []int{5, 0, 11, 3, 8, 1, 10, 4, 7, 2, 9, 6} {
		must(t, s.Final(t.Context(), all[i]))
	}
	wantRecords(t, read(t, s, lately(tenant)), newest(all)...)
}

func otherMonths(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	var all []audit.Record
	for _, days := range []int{85, 62, 61, 33, 32, 31, 30, 2, 1, 0} {
		r := final(intent(tenant, now().AddDate(0, 0, -days)))
		r.Run = "run-1"
		must(t, s.Final(t.Context(), r))
		all = append(all, r)
	}
	for _, f := range []audit.Filter{{}, {Agent: "ci"}, {Server: "docs"}, {Run: "run-1"}, {Agent: "ci", Limit: 2}} {
		f.Tenant = tenant
		wantRecords(t, read(t, s, f), newest(all)...)
		f.Since = all[3].Time
		wantRecords(t, read(t, s, f), newest(all[3:])...)
		f.Until = all[7].Time
		wantRecords(t, read(t, s, f), newest(all[3:7])...)
	}
}

// fill writes n finals, a millisecond apart, oldest first.
func fill(t *testing.T, s store, tenant string, n int) []audit.Record {
	t.Helper()
	at := now().Add(-time.Minute)
	var all []audit.Record
	for i := range n {
		r := final(intent(tenant, at.Add(time.Duration(i)*time.Millisecond)))
		must(t, s.Final(t.Context(), r))
		all = append(all, r)
	}
	return all
}

func pages(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	all := fill(t, s, tenant, 10)
	for _, size := range []int{1, 3, 5, 9, 10, 11} {
		f := lately(tenant)
		f.Limit = size
		if diff := cmp.Diff(ids(newest(all)), ids(read(t, s, f))); diff != "" {
			t.Errorf("pages of %d (-want +got):\n%s", size, diff)
		}
	}
}

func filteredPages(t *testing.T, _ peer, s store) {
	tenant, at := newTenant(), now().Add(-time.Minute)
	var want []string
	for i := range 18 {
		r := final(intent(tenant, at.Add(time.Duration(i)*time.Millisecond)))
		if i%3 == 0 {
			r.Tool = "fetch"
			want = append(want, r.CallID)
		}
		must(t, s.Final(t.Context(), r))
	}
	for _, f := range []audit.Filter{{Tool: "fetch"}, {Tool: "fetch", Agent: "ci"}, {Tool: "fetch", Server: "docs"}} {
		f.Tenant, f.Since, f.Limit = tenant, at.Add(-time.Minute), 2
		if diff := cmp.Diff(newest(want), ids(read(t, s, f))); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", f, diff)
		}
	}
}

func pageSizes(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	fill(t, s, tenant, 130)
	for limit, want := range map[int]int{0: 100, -1: 100, 7: 7, 130: 130, 5000: 130} {
		f := lately(tenant)
		f.Limit = limit
		page, _, err := s.Audit(t.Context(), f)
		must(t, err)
		if len(page) != want {
			t.Errorf("limit %d: got %d records, want %d", limit, len(page), want)
		}
	}
}

func stablePages(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	all := fill(t, s, tenant, 6)
	for _, f := range []audit.Filter{{}, {Agent: "ci"}, {Server: "docs"}} {
		f.Tenant, f.Since, f.Limit = tenant, time.Now().Add(-time.Hour), 2
		var got []string
		for range 10 {
			page, cursor, err := s.Audit(t.Context(), f)
			must(t, err)
			got = append(got, ids(page)...)
			must(t, s.Final(t.Context(), final(intent(tenant, now()))))
			if f.Cursor = cursor; cursor == "" {
				break
			}
		}
		if want := ids(newest(all)); !slices.Equal(got[len(got)-len(want):], want) {
			t.Errorf("%+v: got %v, want it to end in %v", f, got, want)
		}
		seen := map[string]bool{}
		for _, id := range got {
			if seen[id] {
				t.Errorf("%+v: %s was read twice", f, id)
			}
			seen[id] = true
		}
	}
}

func strangeCursor(t *testing.T, p peer, s store) {
	for _, cursor := range []string{"x", "0", strings.Repeat("~", 26), "' OR 1=1 --", strings.Repeat("Z", 26)} {
		f := lately(newTenant())
		f.Cursor = cursor
		_, _, err := s.Audit(t.Context(), f)
		wantErr(t, err, p.badCursor)
	}
}

func expiredRecord(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	old := final(intent(tenant, now().AddDate(0, 0, -91)))
	old.Run = "run-1"
	must(t, s.Final(t.Context(), old))
	young := final(intent(tenant, now()))
	young.Run = "run-1"
	must(t, s.Final(t.Context(), young))
	for _, f := range []audit.Filter{{Agent: "ci"}, {Server: "docs"}, {Run: "run-1"}, {Agent: "ci", Since: old.Time.Add(-time.Hour)}} {
		f.Tenant = tenant
		wantRecords(t, read(t, s, f), young)
	}
}

func tenantRecords(t *testing.T, _ peer, s store) {
	ours, theirs := newTenant(), newTenant()
	mine, other := final(intent(ours, now())), final(intent(theirs, now()))
	other.CallID = mine.CallID // even then
	mine.Run, other.Run = "run-1", "run-1"
	mine.Outcome, other.Outcome = call.RefusedByPolicy, call.RefusedByPolicy
	must(t, s.Final(t.Context(), mine))
	must(t, s.Final(t.Context(), other))
	for _, f := range []audit.Filter{{}, {Agent: "ci"}, {Server: "docs"}, {Run: "run-1"}, {Outcome: call.RefusedByPolicy}} {
		f.Since = time.Now().Add(-time.Hour)
		f.Tenant = ours
		wantRecords(t, read(t, s, f), mine)
		f.Tenant = theirs
		wantRecords(t, read(t, s, f), other)
	}
}

func forgedNames(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	r := final(intent(tenant, now()))
	r.Agent, r.Server, r.Run = "a", "s", "r"
	must(t, s.Final(t.Context(), r))
	for _, forged := range []string{
		tenant + "#A", tenant + "#A#a", tenant + "%23A", tenant + "'", tenant + "' OR '1'='1", tenant + "\x00", tenant + "%",
	} {
		for _, f := range []audit.Filter{{}, {Agent: "a"}, {Server: "s"}, {Run: "r"}} {
			f.Tenant, f.Since = forged, time.Now().Add(-time.Hour)
			wantRecords(t, read(t, s, f))
		}
	}
	for _, agent := range []string{"a#" + time.Now().UTC().Format("2006-01"), "a%", "A", "a "} {
		f := lately(tenant)
		f.Agent = agent
		wantRecords(t, read(t, s, f))
	}
}

func refusals(t *testing.T, _ peer, s store) {
	tenant, at := newTenant(), now().Add(-time.Minute)
	var want []audit.Record
	for i := range 9 {
		r := final(intent(tenant, at.Add(time.Duration(i)*time.Millisecond)))
		switch i {
		case 2: // decided nothing: the server was not known
			r.Decision, r.Outcome, r.Reason = "", call.RefusedByPolicy, call.UnknownServer
		case 4:
			r.Decision, r.Outcome, r.Reason = call.Deny, call.RefusedByPolicy, call.NoRule
		case 6: // found out after it was allowed
			r.Outcome, r.Reason = call.RefusedByPolicy, call.CredentialNoRule
		}
		must(t, s.Final(t.Context(), r))
		if r.Outcome == call.RefusedByPolicy {
			want = append(want, r)
		}
	}
	f := lately(tenant)
	f.Outcome, f.Limit = call.RefusedByPolicy, 2
	wantRecords(t, read(t, s, f), newest(want)...)
	f.Server = "nowhere"
	wantRecords(t, read(t, s, f))
}

func otherHandle(t *testing.T, p peer, s store) {
	other := p.open(t)
	r := intent(newTenant(), now())
	must(t, s.Intent(t.Context(), r))
	wantRecords(t, read(t, other, lately(r.Tenant)), r)
	must(t, other.Final(t.Context(), final(r)))
	wantRecords(t, read(t, s, lately(r.Tenant)), final(r))
	wantErr(t, s.Final(t.Context(), final(r)), p.alreadyFinal)
}
