package contract_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mcprelay/shared/idempotency"
)

// errInTheWay is what a writer gets that another was faster than.
var errInTheWay = errors.New("another record is in the way")

func idempotencyChecks() []check {
	return []check{
		{"a key begins once, and is in the way after that", nothing, keyBegins},
		{"what a call came to is read back byte for byte", nothing, keyEnds},
		{"a key that is given back begins again", nothing, keyGivenBack},
		{"a call ends its own key only, and once", nothing, keyOwner},
		{"a call that is lost stays in the way of its key", nothing, keyOfALostCall},
		{"a key that has expired is forgotten", nothing, keyForgotten},
		{"the keys of two callers do not meet", nothing, keyCallers},
		{"a reply over 256 KB is refused, and its key stays", nothing, keyReplyBound},
		{"an unusable record of a key is refused", nothing, keyUnusable},
		{"one of 64 writers begins a key", concurrency, keyRace},
		{"one of 64 writers begins a key that has expired", concurrency, keyRaceAfterExpiry},
		{"one of 64 writers ends a key", concurrency, keyRaceToEnd},
	}
}

// freshKey is a key that no other check uses.
func freshKey() idempotency.Key { return idempotency.KeyOf(newTenant(), "user", "ci", "key") }

// begun is the record of a call that runs for a minute.
func begun() idempotency.Record {
	return idempotency.Record{
		Digest: "of the request", CallID: newID(now()), State: idempotency.Running, Ver: 1,
		Until: now().Add(time.Minute), Expires: now().Add(idempotency.Lifetime),
	}
}

// doneWith is the record of a call that came to something.
func doneWith(r idempotency.Record, reply string) idempotency.Record {
	r.State, r.Reply, r.Ver = idempotency.Done, []byte(reply), 2
	return r
}

// begin wants a key to begin, or not to.
func begin(t *testing.T, s store, key idempotency.Key, r idempotency.Record, want bool) idempotency.Record {
	t.Helper()
	got, mine, err := s.BeginKey(t.Context(), key, r)
	must(t, err)
	if mine != want {
		t.Fatalf("began %v, want %v: %+v", mine, want, got)
	}
	return got
}

func wantKey(t *testing.T, got, want idempotency.Record) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func keyBegins(t *testing.T, p peer, s store) {
	key, first, second := freshKey(), begun(), begun()
	wantKey(t, begin(t, s, key, first, true), first)
	second.Digest = "of another request"
	wantKey(t, begin(t, s, key, second, false), first)
	wantKey(t, begin(t, s, key, first, false), first) // also for a writer that says it twice
	wantKey(t, begin(t, p.open(t), key, second, false), first)
}

func keyEnds(t *testing.T, p peer, s store) {
	for _, reply := range []string{"{\"n\": 9007199254740993 ,\"x\":\"\\u2028\"}", "\x00\xff\r\n", "", string(bytes.Repeat([]byte("\xfe"), idempotency.MaxReply))} {
		key, first := freshKey(), begun()
		begin(t, s, key, first, true)
		ended := doneWith(first, reply)
		ended.Expires = now().Add(time.Hour)
		must(t, s.EndKey(t.Context(), key, ended))
		wantKey(t, begin(t, s, key, begun(), false), ended)
		wantKey(t, begin(t, p.open(t), key, begun(), false), ended)
	}
}

func keyGivenBack(t *testing.T, _ peer, s store) {
	key, first, second := freshKey(), begun(), begun()
	free := idempotency.Record{CallID: first.CallID}
	must(t, s.EndKey(t.Context(), key, free)) // nobody has it
	begin(t, s, key, first, true)
	must(t, s.EndKey(t.Context(), key, free))
	must(t, s.EndKey(t.Context(), key, free))
	second.Digest = "of another request"
	wantKey(t, begin(t, s, key, second, true), second)
	wantErr(t, s.EndKey(t.Context(), key, free), idempotency.ErrConflict)
	wantKey(t, begin(t, s, key, first, false), second)
}

func keyOwner(t *testing.T, _ peer, s store) {
	key, first := freshKey(), begun()
	wantErr(t, s.EndKey(t.Context(), key, doneWith(first, "x")), idempotency.ErrConflict)
	begin(t, s, key, first, true)
	other := begun()
	wantErr(t, s.EndKey(t.Context(), key, doneWith(other, "of another")), idempotency.ErrConflict)
	wantErr(t, s.EndKey(t.Context(), key, idempotency.Record{CallID: other.CallID}), idempotency.ErrConflict)
	wantKey(t, begin(t, s, key, other, false), first)
	must(t, s.EndKey(t.Context(), key, doneWith(first, "x")))
	wantErr(t, s.EndKey(t.Context(), key, doneWith(first, "changed")), idempotency.ErrConflict)
	wantErr(t, s.EndKey(t.Context(), key, idempotency.Record{CallID: first.CallID}), idempotency.ErrConflict)
	wantKey(t, begin(t, s, key, other, false), doneWith(first, "x"))
}

// Whether it ran is not known, so nothing else may run in its place.
func keyOfALostCall(t *testing.T, _ peer, s store) {
	key, lost := freshKey(), begun()
	lost.Until = now().Add(-time.Minute)
	begin(t, s, key, lost, true)
	wantKey(t, begin(t, s, key, begun(), false), lost)
	must(t, s.EndKey(t.Context(), key, doneWith(lost, "late"))) // it ended after all
	wantKey(t, begin(t, s, key, begun(), false), doneWith(lost, "late"))
}

func keyForgotten(t *testing.T, _ peer, s store) {
	for name, end := range map[string]func(key idempotency.Key, r idempotency.Record) error{
		"running": func(idempotency.Key, idempotency.Record) error { return nil },
		"done": func(key idempotency.Key, r idempotency.Record) error {
			return s.EndKey(t.Context(), key, doneWith(r, "x"))
		},
	} {
		key, old, later := freshKey(), begun(), begun()
		old.Expires = now().Add(-time.Second)
		begin(t, s, key, old, true)
		must(t, end(key, old))
		later.Digest = "of another request"
		must(t, s.EndKey(t.Context(), key, idempotency.Record{CallID: later.CallID})) // nobody has it
		wantKey(t, begin(t, s, key, later, true), later)
		wantKey(t, begin(t, s, key, old, false), later)
		if err := s.EndKey(t.Context(), key, doneWith(old, "late")); err == nil {
			t.Errorf("%s: a call ended the key of another", name)
		}
	}
}

func keyCallers(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	for _, key := range []idempotency.Key{
		idempotency.KeyOf(tenant, "user", "ci", "key"), idempotency.KeyOf(tenant, "user", "ci", "Key"), idempotency.KeyOf(tenant, "user", "cik", "ey"),
		idempotency.KeyOf(tenant, "service_token", "ci", "key"), idempotency.KeyOf(newTenant(), "user", "ci", "key"),
	} {
		begin(t, s, key, begun(), true)
	}
}

func keyReplyBound(t *testing.T, _ peer, s store) {
	key, first := freshKey(), begun()
	begin(t, s, key, first, true)
	none := doneWith(first, "")
	none.Reply = nil
	large := doneWith(first, string(make([]byte, idempotency.MaxReply+1)))
	wantErr(t, s.EndKey(t.Context(), key, large), idempotency.ErrTooLarge)
	wantKey(t, begin(t, s, key, begun(), false), first)
	must(t, s.EndKey(t.Context(), key, none)) // its caller may keep none instead
	wantKey(t, begin(t, s, key, begun(), false), none)
}

func keyUnusable(t *testing.T, _ peer, s store) {
	for name, spoil := range map[string]func(key *idempotency.Key, r *idempotency.Record){
		"no key":      func(key *idempotency.Key, _ *idempotency.Record) { *key = "" },
		"no call":     func(_ *idempotency.Key, r *idempotency.Record) { r.CallID = "" },
		"no digest":   func(_ *idempotency.Key, r *idempotency.Record) { r.Digest = "" },
		"no until":    func(_ *idempotency.Key, r *idempotency.Record) { r.Until = time.Time{} },
		"no lifetime": func(_ *idempotency.Key, r *idempotency.Record) { r.Expires = time.Time{} },
	} {
		key, r := freshKey(), begun()
		spoil(&key, &r)
		if got, mine, err := s.BeginKey(t.Context(), key, r); err == nil || mine {
			t.Errorf("%s: began %v: %+v", name, mine, got)
		}
		if err := s.EndKey(t.Context(), key, doneWith(r, "x")); err == nil {
			t.Errorf("%s: ended", name)
		}
	}
}

// raceToBegin lets 64 writers with handles of their own begin one key, and
// gives who did.
func raceToBegin(t *testing.T, p peer, key idempotency.Key) (winner idempotency.Record) {
	t.Helper()
	handles := []store{p.open(t), p.open(t), p.open(t), p.open(t)}
	var mu sync.Mutex
	seen := map[string]int{}
	began := race(t, 64, errInTheWay, func(i int) error {
		mine := begun()
		got, ok, err := handles[i%len(handles)].BeginKey(t.Context(), key, mine)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		seen[got.CallID]++
		if !ok {
			return errInTheWay
		}
		winner = mine
		return nil
	})
	if began != 1 || len(seen) != 1 || seen[winner.CallID] != 64 {
		t.Fatalf("%d of 64 began, and they saw the calls %v; want one, whom all saw: %s", began, seen, winner.CallID)
	}
	return winner
}

func keyRace(t *testing.T, p peer, s store) {
	key := freshKey()
	winner := raceToBegin(t, p, key)
	wantKey(t, begin(t, s, key, begun(), false), winner)
}

func keyRaceAfterExpiry(t *testing.T, p peer, s store) {
	key, old := freshKey(), begun()
	old.Expires = now().Add(-time.Second)
	begin(t, s, key, old, true)
	must(t, s.EndKey(t.Context(), key, doneWith(old, "x")))
	winner := raceToBegin(t, p, key)
	wantKey(t, begin(t, s, key, begun(), false), winner)
}

func keyRaceToEnd(t *testing.T, p peer, s store) {
	key, first := freshKey(), begun()
	begin(t, s, key, first, true)
	handles := []store{p.open(t), p.open(t)}
	if n := race(t, 64, idempotency.ErrConflict, func(i int) error {
		return handles[i%len(handles)].EndKey(t.Context(), key, doneWith(first, string(rune('a'+i%26))))
	}); n != 1 {
		t.Errorf("%d of 64 ended it, want one", n)
	}
}
