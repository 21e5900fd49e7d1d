package dynamo_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/store/dynamo"
	"mcprelay/shared/turn"
	"mcprelay/test/peers"
)

var errConditional = fails(http.StatusBadRequest, "ConditionalCheckFailedException")

// add counts one of three under a key for an hour.
func add(ctx context.Context, s *dynamo.Store) (bool, error) {
	return s.Add(ctx, "B#x", 3, time.Now().Add(time.Hour))
}

func TestACounterIsOneItemThatExpires(t *testing.T) {
	f := newFake(t, ok)
	now := time.Unix(1_800_000_000, 0)
	s := newStore(f.url, func() time.Time { return now })
	if added, err := s.Add(t.Context(), "B#x", 3, now.Add(time.Hour)); err != nil || !added {
		t.Fatalf("added %v, %v", added, err)
	}
	if err := s.Sub(t.Context(), "B#x"); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ exp, max string }{{"1800003600", "3"}, {"", ""}} {
		asked := f.asked()[i]
		values := asked.ExpressionAttributeValues
		if asked.Operation != "UpdateItem" || asked.TableName != "s" || asked.Key["pk"]["S"] != "B#x" ||
			values[":exp"]["N"] != want.exp || values[":max"]["N"] != want.max || values[":now"]["N"] != "1800000000" || asked.ConditionExpression == "" {
			t.Errorf("request %d: got %+v, want an update with %+v", i, asked, want)
		}
	}
}

// Below 1 there is nothing to ask.
func TestACounterWithoutRoomIsNotAsked(t *testing.T) {
	f := newFake(t, ok)
	for _, most := range []int{0, -1} {
		if added, err := newStore(f.url, nil).Add(t.Context(), "B#x", most, time.Now().Add(time.Hour)); added || err != nil {
			t.Errorf("max %d: added %v, %v", most, added, err)
		}
	}
	if len(f.asked()) != 0 {
		t.Errorf("got %+v, want no request", f.asked())
	}
}

// A second attempt could take back what another call has taken.
func TestACountIsTakenBackOnceAtMost(t *testing.T) {
	f := newFake(t, fails(http.StatusInternalServerError, "InternalServerError"))
	if err := newStore(f.url, nil).Sub(t.Context(), "B#x"); err == nil || !strings.Contains(err.Error(), "taking back") {
		t.Errorf("got %v, want an error", err)
	}
	if n := len(f.asked()); n != 1 {
		t.Errorf("it was asked %d times, want once", n)
	}
}

func TestWhatIsNotThereIsNotTakenBack(t *testing.T) {
	f := newFake(t, errConditional)
	if err := newStore(f.url, nil).Sub(t.Context(), "B#x"); err != nil {
		t.Errorf("got %v, want none", err)
	}
}

// What another process does between an update and the look at what was in its
// way.
func TestACounterThatIsAnotherOneMeanwhile(t *testing.T) {
	later, past := value{"N": "99999999999"}, value{"N": "1"}
	for name, tt := range map[string]struct {
		there   map[string]value // what is read; nil for nothing
		refused int              // how many updates are
		updates int              // how many there must be
		added   bool
	}{
		"full":                            {map[string]value{"exp": later, "count": {"N": "3"}}, 100, 1, false},
		"more than full":                  {map[string]value{"exp": later, "count": {"N": "9"}}, 100, 1, false},
		"with room again":                 {map[string]value{"exp": later, "count": {"N": "2"}}, 1, 2, true},
		"with room each time it is read":  {map[string]value{"exp": later, "count": {"N": "2"}}, 100, 4, false},
		"deleted":                         {nil, 1, 2, true},
		"deleted again and again":         {nil, 100, 4, false},
		"expired":                         {map[string]value{"exp": past, "count": {"N": "3"}}, 1, 2, true},
		"expired, and begun by another":   {map[string]value{"exp": past, "count": {"N": "3"}}, 2, 3, true},
		"expired, and never to be begun":  {map[string]value{"exp": past, "count": {"N": "3"}}, 100, 8, false},
		"of a number that cannot be read": {map[string]value{"exp": later, "count": {"S": "3"}}, 100, 4, false},
	} {
		updates := 0
		f := newFake(t, func(w http.ResponseWriter, r request) {
			switch updates++; {
			case r.Operation == "GetItem":
				updates--
				if !r.ConsistentRead {
					t.Errorf("%s: it may be read as it was", name)
				}
				document := map[string]any{}
				if tt.there != nil {
					document["Item"] = tt.there
				}
				reply(w, document)
			case updates <= tt.refused:
				errConditional(w, r)
			default:
				ok(w, r)
			}
		})
		if added, err := add(t.Context(), newStore(f.url, nil)); err != nil || added != tt.added || updates != tt.updates {
			t.Errorf("%s: added %v by %d updates, %v; want %v by %d", name, added, updates, err, tt.added, tt.updates)
		}
	}
}

// The SDK repeats an update whose answer was lost: the call counts once.
func TestACountWhoseAnswerWasLostIsNotMistaken(t *testing.T) {
	l := newLossy(t, peers.Dynalite(t))
	s := onDynalite(t, l.url)
	for n := range 3 {
		l.armed.Store(true)
		before := l.lost.Load()
		if added, err := add(t.Context(), s); err != nil || !added || l.lost.Load() == before {
			t.Fatalf("call %d: added %v, %v, answers lost %d", n, added, err, l.lost.Load()-before)
		}
	}
	if added, err := add(t.Context(), s); err != nil || added {
		t.Errorf("a fourth call of three: added %v, %v", added, err)
	}
}

func TestATurnWhoseAnswerWasLostIsNotMistaken(t *testing.T) {
	l := newLossy(t, peers.Dynalite(t))
	s := onDynalite(t, l.url)
	stored := turn.Turn{ID: "t", Expires: time.Now().Add(time.Hour)}
	for range 2 { // the first, and one over it
		l.armed.Store(true)
		before := l.lost.Load()
		got, err := s.PutTurn(t.Context(), "N#x", stored)
		if err != nil || l.lost.Load() == before {
			t.Fatalf("got %v, answers lost %d", err, l.lost.Load()-before)
		}
		stored = got
	}
}

func TestAStoreThatFailsIsAnErrorOfCountersAndTurns(t *testing.T) {
	denied := newStore(newFake(t, fails(http.StatusBadRequest, "AccessDeniedException")).url, nil)
	unread := newStore(newFake(t, func(w http.ResponseWriter, r request) {
		if r.Operation == "UpdateItem" {
			errConditional(w, r)
			return
		}
		fails(http.StatusBadRequest, "AccessDeniedException")(w, r)
	}).url, nil)
	spoilt := newStore(newFake(t, func(w http.ResponseWriter, _ request) {
		reply(w, map[string]any{"Item": map[string]value{"exp": {"N": "99999999999"}, "body": {"S": "{"}}})
	}).url, nil)
	for name, do := range map[string]func() error{
		"Add":                         func() error { _, err := add(t.Context(), denied); return err },
		"Add that cannot read":        func() error { _, err := add(t.Context(), unread); return err },
		"Sub":                         func() error { return denied.Sub(t.Context(), "B#x") },
		"Turn":                        func() error { _, err := denied.Turn(t.Context(), "N#x"); return err },
		"Turn that says nothing":      func() error { _, err := spoilt.Turn(t.Context(), "N#x"); return err },
		"PutTurn":                     func() error { _, err := denied.PutTurn(t.Context(), "N#x", turn.Turn{ID: "t"}); return err },
		"PutTurn that is not allowed": func() error { _, err := denied.PutTurn(t.Context(), "N#x", turn.Turn{ID: "t", Ver: 2}); return err },
	} {
		if err := do(); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}
