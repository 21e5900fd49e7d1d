package turn_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/turn"
)

func TestATurnIsOpenedAsItWasAskedFor(t *testing.T) {
	m, ask := &memory{}, wanted()
	ask.Single, ask.Used, ask.Ended, ask.ID, ask.Ver, ask.Opened = true, true, true, "mine", 9, at.Add(time.Hour)
	got := opened(t, m, ask)
	want := wanted()
	want.Single, want.Opened, want.Expires, want.Ver, want.ID = true, at, at.Add(turn.DefaultLifetime), 1, got.ID
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("turn (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(got, m.turns[got.Key()]); diff != "" {
		t.Errorf("what is stored (-want +got):\n%s", diff)
	}
	if got.Forgotten() != got.Expires.Add(turn.Remembered) {
		t.Errorf("it is forgotten at %v", got.Forgotten())
	}
}

func TestWhatCannotBeATurn(t *testing.T) {
	long := strings.Repeat("x", turn.MaxName+1)
	offers := func(n int, tool string) []turn.Offer {
		var all []turn.Offer
		for i := range n {
			all = append(all, turn.Offer{Server: "docs", Tool: strings.Repeat("x", i%256) + strings.Repeat("y", i/256) + tool, Digest: "d"})
		}
		return all
	}
	for name, tt := range map[string]struct {
		change func(a *turn.Turn)
		want   string // empty where it can be one
	}{
		"no tenant":                        {func(a *turn.Turn) { a.Tenant = "" }, "nobody's"},
		"no kind":                          {func(a *turn.Turn) { a.Kind = "" }, "nobody's"},
		"no subject":                       {func(a *turn.Turn) { a.Subject = "" }, "nobody's"},
		"no run":                           {func(a *turn.Turn) { a.Run = "" }, ""},
		"no mode":                          {func(a *turn.Turn) { a.Mode = "" }, `"ask" or "build"`},
		"another mode":                     {func(a *turn.Turn) { a.Mode = "Build" }, `"ask" or "build"`},
		"the longest life":                 {func(a *turn.Turn) { a.Expires = at.Add(turn.MaxLifetime) }, ""},
		"a longer one":                     {func(a *turn.Turn) { a.Expires = at.Add(turn.MaxLifetime + 1) }, "at most 1h"},
		"a life that is over":              {func(a *turn.Turn) { a.Expires = at }, "lifetime"},
		"no offers":                        {func(a *turn.Turn) { a.Offers = nil }, ""},
		"the most offers":                  {func(a *turn.Turn) { a.Offers = offers(turn.MaxOffers, "t") }, ""},
		"an offer more":                    {func(a *turn.Turn) { a.Offers = offers(turn.MaxOffers+1, "t") }, "at most 512"},
		"more bytes than are kept":         {func(a *turn.Turn) { a.Offers = offers(turn.MaxOffers, strings.Repeat("\x01", 100)) }, "bytes"},
		"an offer without a server":        {func(a *turn.Turn) { a.Offers[1].Server = "" }, "offer 1"},
		"an offer without a tool":          {func(a *turn.Turn) { a.Offers[1].Tool = "" }, "offer 1"},
		"a long server":                    {func(a *turn.Turn) { a.Offers[1].Server = long }, "offer 1"},
		"the longest tool":                 {func(a *turn.Turn) { a.Offers[1].Tool = long[1:] }, ""},
		"a long tool":                      {func(a *turn.Turn) { a.Offers[1].Tool = long }, "offer 1"},
		"a long digest":                    {func(a *turn.Turn) { a.Offers[1].Digest = long }, "offer 1"},
		"a tool that is not UTF-8":         {func(a *turn.Turn) { a.Offers[2].Tool = "\xff" }, "offer 2"},
		"a digest that is not UTF-8":       {func(a *turn.Turn) { a.Offers[2].Digest = "\xff" }, "offer 2"},
		"a tool twice":                     {func(a *turn.Turn) { a.Offers[2] = turn.Offer{Server: "docs", Tool: "search", Digest: "other"} }, "twice"},
		"a tool's name at another server":  {func(a *turn.Turn) { a.Offers[2] = turn.Offer{Server: "mail", Tool: "search"} }, ""},
		"a server and tool that run alike": {func(a *turn.Turn) { a.Offers[2] = turn.Offer{Server: "docss", Tool: "earch"} }, ""},
	} {
		m, a := &memory{}, wanted()
		tt.change(&a)
		_, refusal := turn.Open(t.Context(), m, a, at)
		if tt.want == "" {
			wantReason(t, name, refusal, "")
			continue
		}
		wantReason(t, name, refusal, call.BadParams)
		if refusal != nil && !strings.Contains(refusal.Detail, tt.want) || len(m.turns) != 0 || len(refusal.Error()) > 200 {
			t.Errorf("%s: got %v, want %q, and %d stored", name, refusal, tt.want, len(m.turns))
		}
	}
}

func TestTheNextTurnEndsTheOneBeforeOfItsRunAlone(t *testing.T) {
	m, other := &memory{}, wanted()
	other.Run = "run-2"
	first, beside := opened(t, m, wanted()), opened(t, m, other)
	second := opened(t, m, wanted())
	for name, tt := range map[string]struct {
		of   turn.Turn
		want call.Reason
	}{"before": {first, call.TurnEnded}, "next": {second, ""}, "of another run": {beside, ""}} {
		got, refusal := turn.Check(t.Context(), m, tt.of.ID, save(tt.of))
		wantReason(t, name, refusal, tt.want)
		if tt.want == "" && got.ID != tt.of.ID {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// A caller must not learn whether somebody else has a turn, nor cost the store
// a read for what is no id.
func TestAForeignTurnIsRefusedUnread(t *testing.T) {
	m := &memory{}
	of := opened(t, m, wanted())
	m.reads = 0
	a := save(of)
	_, refusal := turn.Check(t.Context(), m, "trn_x", a)
	wantReason(t, "no id", refusal, call.TurnUnknown)
	a.Key = turn.KeyOf("acme", "user", "other", "run-1")
	_, refusal = turn.Check(t.Context(), m, of.ID, a)
	wantReason(t, "of another caller", refusal, call.TurnForeign)
	a.Key = turn.KeyOf("acme", "user", "ci", "run-2")
	_, refusal = turn.Check(t.Context(), m, of.ID, a)
	wantReason(t, "of another run", refusal, call.TurnForeign)
	if m.reads != 0 {
		t.Errorf("the store was read %d times", m.reads)
	}
}

func TestATurnOfOneCallIsSpentByIt(t *testing.T) {
	m, one := &memory{}, wanted()
	one.Single = true
	of := opened(t, m, one)
	checked, refusal := turn.Check(t.Context(), m, of.ID, save(of))
	wantReason(t, "check", refusal, "")
	again, refusal := turn.Check(t.Context(), m, of.ID, save(of))
	wantReason(t, "a check takes nothing", refusal, "")
	wantReason(t, "spend", turn.Spend(t.Context(), m, checked, save(of)), "")
	wantReason(t, "spend again", turn.Spend(t.Context(), m, checked, save(of)), call.TurnUsed)
	wantReason(t, "spend what was checked before", turn.Spend(t.Context(), m, again, save(of)), call.TurnUsed)
	_, refusal = turn.Check(t.Context(), m, of.ID, save(of))
	wantReason(t, "a replay", refusal, call.TurnUsed)
}

func TestATurnOfManyCallsIsNotSpent(t *testing.T) {
	m := &memory{}
	of := opened(t, m, wanted())
	writes := m.writes
	for range 3 {
		wantReason(t, "spend", turn.Spend(t.Context(), m, of, save(of)), "")
	}
	wantReason(t, "no turn", turn.Spend(t.Context(), m, turn.Turn{}, turn.Asked{}), "")
	if m.writes != writes {
		t.Errorf("it was written %d times", m.writes-writes)
	}
}

// What happens between the check and the call counts.
func TestATurnThatEndsMeanwhileIsNotSpent(t *testing.T) {
	for name, tt := range map[string]struct {
		meanwhile func(t *testing.T, m *memory, of turn.Turn)
		want      call.Reason
	}{
		"ended": {func(t *testing.T, m *memory, of turn.Turn) {
			wantReason(t, "end", turn.End(t.Context(), m, of.ID, turn.Caller{"acme", "user", "ci"}), "")
		}, call.TurnEnded},
		"superseded": {func(t *testing.T, m *memory, of turn.Turn) { opened(t, m, of) }, call.TurnEnded},
		"forgotten":  {func(_ *testing.T, m *memory, of turn.Turn) { delete(m.turns, of.Key()) }, call.TurnUnknown},
		"nothing":    {func(*testing.T, *memory, turn.Turn) {}, ""},
	} {
		m, one := &memory{}, wanted()
		one.Single = true
		of := opened(t, m, one)
		tt.meanwhile(t, m, of)
		wantReason(t, name, turn.Spend(t.Context(), m, of, save(of)), tt.want)
	}
}

func TestACallerEndsItsOwnTurnsAlone(t *testing.T) {
	me := turn.Caller{Tenant: "acme", Kind: "user", Subject: "ci"}
	m := &memory{}
	first := opened(t, m, wanted())
	of := opened(t, m, wanted())
	never := opened(t, &memory{}, turn.Turn{Tenant: "acme", Kind: "user", Subject: "ci", Run: "never", Mode: turn.Ask}).ID
	for _, tt := range []struct {
		name string
		id   string
		by   turn.Caller
		want call.Reason
	}{
		{"another tenant", of.ID, turn.Caller{"other", "user", "ci"}, call.TurnForeign},
		{"another kind", of.ID, turn.Caller{"acme", "other", "ci"}, call.TurnForeign},
		{"another subject", of.ID, turn.Caller{"acme", "user", "other"}, call.TurnForeign},
		{"nobody", of.ID, turn.Caller{}, call.TurnForeign},
		{"another, by an id that was never given", of.ID[:len(of.ID)-4] + "AAAA", turn.Caller{"acme", "user", "other"}, call.TurnUnknown},
		{"nobody, where there is none", never, turn.Caller{}, call.TurnUnknown},
		{"a run without one", never, me, call.TurnUnknown},
		{"no id", "trn_x", me, call.TurnUnknown},
		{"one that the next has ended", first.ID, me, ""},
	} {
		wantReason(t, tt.name, turn.End(t.Context(), m, tt.id, tt.by), tt.want)
		_, refusal := turn.Check(t.Context(), m, of.ID, save(of))
		wantReason(t, tt.name+": the turn after it", refusal, "")
	}
	writes := m.writes
	for range 2 {
		wantReason(t, "its own", turn.End(t.Context(), m, of.ID, me), "")
	}
	if m.writes != writes+1 {
		t.Errorf("it was written %d times, want once", m.writes-writes)
	}
	_, refusal := turn.Check(t.Context(), m, of.ID, save(of))
	wantReason(t, "after its end", refusal, call.TurnEnded)
	wantReason(t, "the next one", turn.End(t.Context(), m, opened(t, m, wanted()).ID, me), "")
}

func TestAStoreThatFailsRefuses(t *testing.T) {
	for name, spoil := range map[string]func(m *memory){
		"the first read":    func(m *memory) { m.failRead = m.reads + 1 },
		"the write":         func(m *memory) { m.failWrite = m.writes + 1 },
		"a read after it":   func(m *memory) { m.failRead, m.conflicts = m.reads+2, 1 },
		"conflicts for all": func(m *memory) { m.conflicts = 1 << 20 },
	} {
		for what, do := range map[string]func(m *memory, of turn.Turn) *call.Refusal{
			"open": func(m *memory, of turn.Turn) *call.Refusal { _, r := turn.Open(t.Context(), m, of, at); return r },
			"end": func(m *memory, of turn.Turn) *call.Refusal {
				return turn.End(t.Context(), m, of.ID, turn.Caller{"acme", "user", "ci"})
			},
			"use": func(m *memory, of turn.Turn) *call.Refusal {
				checked, r := turn.Check(t.Context(), m, of.ID, save(of))
				if r != nil {
					return r
				}
				return turn.Spend(t.Context(), m, checked, save(of))
			},
		} {
			m, one := &memory{}, wanted()
			one.Single = true
			of := opened(t, m, one)
			spoil(m)
			got := do(m, of)
			wantReason(t, what+", "+name, got, call.TurnUnavailable)
			if got != nil && !errors.Is(got, errStore) && !errors.Is(got, turn.ErrConflict) {
				t.Errorf("%s, %s: the cause is %v", what, name, got.Err)
			}
		}
	}
}

func TestOf64CallsOneSpendsATurn(t *testing.T) {
	m, one := &memory{}, wanted()
	one.Single = true
	of := opened(t, m, one)
	var made atomic.Int32
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			switch refusal := turn.Spend(t.Context(), m, of, save(of)); {
			case refusal == nil:
				made.Add(1)
			case refusal.Reason != call.TurnUsed:
				t.Error(refusal)
			}
		})
	}
	wg.Wait()
	if made.Load() != 1 {
		t.Errorf("%d of 64 made the call", made.Load())
	}
}

func TestATurnOfOneCallGoesOnWithThatCallAlone(t *testing.T) {
	m, one := &memory{}, wanted()
	one.Single = true
	of := opened(t, m, one)
	of.Ver = m.turns[of.Key()].Ver
	round := func(id, after, repeats string) *call.Refusal {
		a := save(of)
		a.Call, a.After, a.Repeats = id, after, repeats
		present, refusal := turn.Check(t.Context(), m, of.ID, a)
		if refusal != nil || repeats != "" {
			return refusal
		}
		return turn.Spend(t.Context(), m, present, a)
	}
	for _, tt := range []struct {
		name, id, after, repeats string
		want                     call.Reason
	}{
		{"the call", "c1", "", "", ""},
		{"another", "c2", "", "", call.TurnUsed},
		{"an answer to what nobody was asked", "c2", "c9", "", call.TurnUsed},
		{"the answer", "c3", "c1", "", ""},
		{"the answer once more", "c4", "c1", "", call.TurnUsed},
		{"the next answer", "c5", "c3", "", ""},
		{"a repeat of the first round", "c6", "", "c1", ""},
		{"a repeat of the last", "c7", "c3", "c5", ""},
		{"a repeat of another call", "c8", "", "c2", call.TurnUsed},
	} {
		wantReason(t, tt.name, round(tt.id, tt.after, tt.repeats), tt.want)
	}
}

func TestWhatDidNotRunGivesItsUseBack(t *testing.T) {
	spent := func(m *memory) (turn.Turn, turn.Asked) {
		one := wanted()
		one.Single = true
		of := opened(t, m, one)
		a := save(of)
		a.Call = "c1"
		wantReason(t, "spend", turn.Spend(t.Context(), m, of, a), "")
		return of, a
	}
	back := func(m *memory, of turn.Turn, a turn.Asked) {
		t.Helper()
		if err := turn.GiveBack(t.Context(), m, of.ID, a); err != nil {
			t.Error(err)
		}
	}
	m := &memory{}
	of, a := spent(m)
	other := a
	other.Call = "c2"
	back(m, of, other)
	_, refusal := turn.Check(t.Context(), m, of.ID, other)
	wantReason(t, "what another spent", refusal, call.TurnUsed)
	m.conflicts = 1
	back(m, of, a)
	present, refusal := turn.Check(t.Context(), m, of.ID, other)
	wantReason(t, "given back", refusal, "")
	wantReason(t, "spend again", turn.Spend(t.Context(), m, present, other), "")
	back(m, of, a)
	_, refusal = turn.Check(t.Context(), m, of.ID, a)
	wantReason(t, "given back twice", refusal, call.TurnUsed)

	next := opened(t, m, wanted())
	back(m, of, other)
	if got := m.turns[of.Key()]; got.ID != next.ID || got.Ver != next.Ver {
		t.Error("the next turn was changed")
	}
}
