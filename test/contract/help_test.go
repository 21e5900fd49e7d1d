package contract_test

import (
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
)

// newTenant is a tenant that no other check uses: the peers keep what earlier
// checks and other runs wrote.
func newTenant() string { return "t" + strings.ToLower(ulid.Make().String()) }

// now is the time to the millisecond, as call ids have it.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// newID is a call id of a time.
func newID(at time.Time) string {
	return ulid.MustNew(ulid.Timestamp(at), rand.Reader).String()
}

// intent is the record of a call that was allowed and has not ended.
func intent(tenant string, at time.Time) audit.Record {
	return audit.Record{
		State: audit.StateIntent, CallID: newID(at), Tenant: tenant, Time: at,
		Agent: "ci", Kind: call.KindServiceToken, Operation: call.OperationToolsCall,
		Server: "docs", Tool: "search", About: "search",
		Policy: call.PolicyNotRun, Decision: call.Allow, ToolEffect: call.EffectWrite,
	}
}

// final is the record with which the call of an intent ends.
func final(r audit.Record) audit.Record {
	r.State, r.Outcome, r.Reason, r.Stage, r.Effect = audit.StateFinal, call.Answered, call.OK, call.StageCall, call.ImpactDone
	r.DurationMS = 12.5
	return r
}

// refused is the record of a call that policy refused.
func refused(tenant string, at time.Time) audit.Record {
	r := final(intent(tenant, at))
	r.Decision, r.Outcome, r.Reason, r.Stage, r.Effect = call.Deny, call.RefusedByPolicy, call.NoRule, call.StagePolicy, call.ImpactNone
	return r
}

// must stops a check at an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantErr wants an error that wraps one.
func wantErr(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("got error %v, want %v", got, want)
	}
}

// read reads every page of a filter.
func read(t *testing.T, s store, f audit.Filter) []audit.Record {
	t.Helper()
	var all []audit.Record
	for range 100 {
		page, cursor, err := s.Audit(t.Context(), f)
		must(t, err)
		if len(page) > f.PageSize() {
			t.Fatalf("got a page of %d, want at most %d", len(page), f.PageSize())
		}
		all = append(all, page...)
		if cursor == "" {
			return all
		}
		f.Cursor = cursor
	}
	t.Fatal("100 pages and no end")
	return nil
}

// lately is the filter of a tenant's last hour: on moto every day costs.
func lately(tenant string) audit.Filter {
	return audit.Filter{Tenant: tenant, Since: time.Now().Add(-time.Hour)}
}

// wantRecords wants exactly these records, in this order.
func wantRecords(t *testing.T, got []audit.Record, want ...audit.Record) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// ids are the call ids of records.
func ids(records []audit.Record) []string {
	var list []string
	for _, r := range records {
		list = append(list, r.CallID)
	}
	return list
}

// newest is a list the other way round.
func newest[T any](list []T) []T {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

// race runs n functions at once and counts those without an error; every other
// must have failed with the one that losers get.
func race(t *testing.T, n int, loser error, f func(i int) error) (winners int) {
	t.Helper()
	errs := make([]error, n)
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-begin
			errs[i] = f(i)
		})
	}
	close(begin)
	wg.Wait()
	for _, err := range errs {
		switch {
		case err == nil:
			winners++
		case !errors.Is(err, loser):
			t.Errorf("got error %v, want %v", err, loser)
		}
	}
	return winners
}
