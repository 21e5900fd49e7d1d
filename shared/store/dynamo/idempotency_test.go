package dynamo_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/idempotency"
	"mcprelay/shared/store/dynamo"
)

// recordOf is the record of a call, as far as it came.
func recordOf(call string, state idempotency.State) idempotency.Record {
	now := time.Now().UTC()
	return idempotency.Record{Digest: "d", CallID: call, State: state, Until: now.Add(time.Minute), Expires: now.Add(time.Hour)}
}

// errInTheWay is what beginKey gives where another record is.
var errInTheWay = errors.New("another record is in the way")

func beginKey(ctx context.Context, s *dynamo.Store, key idempotency.Key) error {
	_, mine, err := s.BeginKey(ctx, key, recordOf("one", idempotency.Running))
	if err == nil && !mine {
		err = errInTheWay
	}
	return err
}

func TestAKeyIsOneItemThatExpires(t *testing.T) {
	f := newFake(t, ok)
	s := newStore(f.url, nil)
	r := recordOf("one", idempotency.Running)
	if _, mine, err := s.BeginKey(t.Context(), "I#x", r); err != nil || !mine {
		t.Fatalf("began %v, %v", mine, err)
	}
	r.State, r.Reply = idempotency.Done, []byte("it")
	if err := s.EndKey(t.Context(), "I#x", r); err != nil {
		t.Fatal(err)
	}
	for i, want := range []map[string]string{
		{"pk": "I#x", "call": "one", "state": "running", "ver": "1", "reply": ""},
		{"pk": "I#x", "call": "one", "state": "done", "ver": "2", "reply": "aXQ="},
	} {
		asked := f.asked()[i]
		got := map[string]string{}
		for name := range want {
			got[name] = asked.Item[name]["S"] + asked.Item[name]["N"] + asked.Item[name]["B"]
		}
		if diff := cmp.Diff(want, got); diff != "" || asked.Operation != "PutItem" || asked.TableName != "s" {
			t.Errorf("%s of table %s, item (-want +got):\n%s", asked.Operation, asked.TableName, diff)
		}
		if got := asked.Item["exp"]["N"]; got != strconv.FormatInt(r.Expires.Unix(), 10) {
			t.Errorf("it expires at %s, want %d", got, r.Expires.Unix())
		}
	}
}

// A relay may write to the table of states and not delete from it.
func TestAKeyIsGivenBackWithoutDeleting(t *testing.T) {
	f := newFake(t, ok)
	now := time.Unix(1_800_000_000, 0)
	s := newStore(f.url, func() time.Time { return now })
	if err := s.EndKey(t.Context(), "I#x", recordOf("one", "")); err != nil {
		t.Fatal(err)
	}
	asked := f.asked()
	if len(asked) != 1 || asked[0].Operation != "PutItem" || asked[0].Item["exp"]["N"] != "1800000000" {
		t.Errorf("got %+v, want one item that has expired", asked)
	}
}

// DynamoDB deletes late, so it may delete between a write and the look at what
// was in its way.
func TestAKeyWhoseRecordGoesMeanwhileBegins(t *testing.T) {
	for name, tt := range map[string]struct {
		gone int // how often
		want string
	}{"once": {1, ""}, "always": {100, "again and again"}} {
		writes := 0
		f := newFake(t, func(w http.ResponseWriter, r request) {
			if r.Operation == "PutItem" {
				if writes++; writes <= tt.gone {
					fails(http.StatusBadRequest, "ConditionalCheckFailedException")(w, r)
					return
				}
			}
			ok(w, r)
		})
		err := beginKey(t.Context(), newStore(f.url, nil), "I#x")
		if got := err == nil; got != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
		if writes > 3 {
			t.Errorf("%s: it was written %d times", name, writes)
		}
	}
}

func TestAKeyThatCannotBeReadIsAnError(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r request) {
		if r.Operation == "PutItem" {
			fails(http.StatusBadRequest, "ConditionalCheckFailedException")(w, r)
			return
		}
		reply(w, map[string]any{"Item": map[string]value{"exp": {"N": "99999999999"}, "body": {"S": "{"}}})
	})
	if err := beginKey(t.Context(), newStore(f.url, nil), "I#x"); err == nil || errors.Is(err, errInTheWay) {
		t.Errorf("got %v, want an error of the record", err)
	}
	denied := newFake(t, fails(http.StatusBadRequest, "AccessDeniedException"))
	for name, err := range map[string]error{
		"begin": beginKey(t.Context(), newStore(denied.url, nil), "I#x"),
		"end":   newStore(denied.url, nil).EndKey(t.Context(), "I#x", recordOf("one", "")),
	} {
		if err == nil || errors.Is(err, idempotency.ErrConflict) || errors.Is(err, errInTheWay) {
			t.Errorf("%s: got %v, want the error of AWS", name, err)
		}
	}
}
