package idempotency_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/idempotency"
)

func at(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }

func running() idempotency.Record {
	return idempotency.Record{Digest: "d", CallID: "one", State: idempotency.Running, Until: at(100), Expires: at(1000), Ver: 1}
}

func done(reply string) idempotency.Record {
	r := running()
	r.State, r.Reply, r.Ver = idempotency.Done, []byte(reply), 2
	return r
}

func TestKeysOfDifferentCallersDiffer(t *testing.T) {
	seen := map[idempotency.Key]string{}
	for _, parts := range [][4]string{
		{"acme", "user", "ci", "k"}, {"acme", "user", "ci", "K"}, {"acme", "user", "cik", ""}, {"acme", "user", "", "cik"}, {"acme", "userci", "", "k"},
		{"acm", "euser", "ci", "k"}, {"acme", "service_token", "ci", "k"}, {"other", "user", "ci", "k"}, {"acme", "user", "ci", "k\x00"}, {"", "", "", ""},
	} {
		key := idempotency.KeyOf(parts[0], parts[1], parts[2], parts[3])
		if other, taken := seen[key]; taken {
			t.Errorf("%q has the key of %s", parts, other)
		}
		seen[key] = fmt.Sprintf("%q", parts)
		if again := idempotency.KeyOf(parts[0], parts[1], parts[2], parts[3]); again != key {
			t.Errorf("%q: got %s, then %s", parts, key, again)
		}
	}
}

func TestAKeyTellsNothingOfWhatItIsMadeOf(t *testing.T) {
	key := string(idempotency.KeyOf("tenant-x", "kind-x", "subject-x", "secret-x"))
	if strings.Contains(key, "-x") || !strings.HasPrefix(key, "I#") || len(key) != len("I#")+43 {
		t.Errorf("got %s, want I# and a digest", key)
	}
}

func TestWhatARecordInTheWayMeans(t *testing.T) {
	for _, c := range []struct {
		name   string
		record idempotency.Record
		digest string
		now    time.Time
		want   call.Reason // empty: its reply answers
		retry  int
	}{
		{"the same request, done", done("x"), "d", at(10), "", 0},
		{"the same request, done long ago", done("x"), "d", at(999), "", 0},
		{"another request, done", done("x"), "e", at(10), call.KeyReused, 0},
		{"another request, running", running(), "e", at(10), call.KeyReused, 0},
		{"another request, lost", running(), "", at(200), call.KeyReused, 0},
		{"running", running(), "d", at(10), call.KeyInUse, 5},
		{"running, for the last seconds", running(), "d", at(97), call.KeyInUse, 3},
		{"running, the last moment", running(), "d", at(100).Add(-time.Nanosecond), call.KeyInUse, 1},
		{"running for hours", with(running(), at(9000)), "d", at(10), call.KeyInUse, 5},
		{"lost", running(), "d", at(100), call.OutcomeUnknown, 0},
		{"lost long ago", running(), "d", at(900), call.OutcomeUnknown, 0},
		{"in a state of a later relay", idempotency.Record{Digest: "d", State: "paused", Until: at(5)}, "d", at(10), call.OutcomeUnknown, 0},
		{"in no state", idempotency.Record{Digest: "d"}, "d", at(10), call.OutcomeUnknown, 0},
	} {
		refusal := c.record.Judge(c.digest, c.now)
		if refusal == nil {
			refusal = &call.Refusal{}
		}
		if refusal.Reason != c.want || refusal.RetryAfter != c.retry {
			t.Errorf("%s: got %q after %d s, want %q after %d s", c.name, refusal.Reason, refusal.RetryAfter, c.want, c.retry)
		}
	}
}

func with(r idempotency.Record, until time.Time) idempotency.Record {
	r.Until = until
	return r
}

func TestStoredRecordsAreWhole(t *testing.T) {
	given := done("left over")
	if got, err := given.Begun("I#x"); err != nil || !cmp.Equal(running(), got) {
		t.Errorf("begun: got %+v, %v, want a running record without a reply", got, err)
	}
	given.Ver = 7
	if got, err := given.Ended("I#x"); err != nil || !cmp.Equal(done("left over"), got) {
		t.Errorf("ended: got %+v, %v, want it done, of version 2", got, err)
	}
	if got, err := (idempotency.Record{CallID: "one"}).Ended("I#x"); err != nil || got.State != "" {
		t.Errorf("given back: got %+v, %v, want the call to be enough", got, err)
	}
	for name, err := range map[string]error{
		"begun without a key":   second(running().Begun("")),
		"begun without a call":  second(idempotency.Record{Digest: "d", Until: at(1), Expires: at(2)}.Begun("I#x")),
		"begun without a time":  second(with(running(), time.Time{}).Begun("I#x")),
		"ended without a key":   second(done("x").Ended("")),
		"ended without a time":  second(with(done("x"), time.Time{}).Ended("I#x")),
		"ended by running":      second(running().Ended("I#x")),
		"given back by nobody":  second(idempotency.Record{}.Ended("I#x")),
		"ended in another word": second(idempotency.Record{CallID: "one", Digest: "d", State: "Done", Until: at(1), Expires: at(2)}.Ended("I#x")),
	} {
		if err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func second(_ idempotency.Record, err error) error { return err }

func TestAReplyIsBounded(t *testing.T) {
	if _, err := done(strings.Repeat("x", idempotency.MaxReply)).Ended("I#x"); err != nil {
		t.Errorf("256 KiB: got %v", err)
	}
	if _, err := done(strings.Repeat("x", idempotency.MaxReply+1)).Ended("I#x"); !errors.Is(err, idempotency.ErrTooLarge) {
		t.Errorf("a byte more: got %v, want %v", err, idempotency.ErrTooLarge)
	}
}

func TestTheJSONOfARecordHasNoReply(t *testing.T) {
	text, err := json.Marshal(done("the reply"))
	if want := `{"digest":"d","call_id":"one","state":"done","until":"1970-01-01T00:01:40Z","expires":"1970-01-01T00:16:40Z"}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
}
