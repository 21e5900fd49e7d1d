package dynamo_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/session"
	"mcprelay/shared/store/dynamo"
)

// A flood of sessions must not meet in one partition of an index.
func TestSessionsAreSpreadOverTheShardsOfBothIndexes(t *testing.T) {
	f := newFake(t, ok)
	s := newStore(f.url, nil)
	state := stateUntil(time.Now().Add(time.Hour))
	state.Owner = session.Owner{Tenant: "acme", Server: "docs", Subject: "ci", Kind: "user", Run: "run-1"}
	for i := range 200 {
		if _, err := s.Save(t.Context(), session.KeyOf(session.Parts{Run: fmt.Sprint(i)}), state); err != nil {
			t.Fatal(err)
		}
	}
	used := map[string]map[string]bool{"run_pk": {}, "close_pk": {}}
	for _, r := range f.asked() {
		for name, partitions := range used {
			partitions[r.Item[name]["S"]] = true
		}
	}
	for name, partitions := range used {
		if len(partitions) != dynamo.Shards {
			t.Errorf("%s: 200 sessions are in %d partitions, want %d", name, len(partitions), dynamo.Shards)
		}
	}
}

func TestSessionsToCloseAreAskedForInEveryShard(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for name, tt := range map[string]struct {
		ask    func(s *dynamo.Store) error
		index  string
		prefix string
		limit  int
		values map[string]string
	}{
		"of a run": {func(s *dynamo.Store) error {
			_, err := s.SessionsOfRun(t.Context(), "R#x")
			return err
		}, "run", "R#x#", 1000, map[string]string{":now": "1800000000"}},
		"expired": {func(s *dynamo.Store) error {
			_, err := s.SessionsExpired(t.Context(), now.Add(-time.Minute), 7)
			return err
		}, "expiry", "X#", 7, map[string]string{":low": "1800000001", ":high": "1800172740"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, ok)
			if err := tt.ask(newStore(f.url, func() time.Time { return now })); err != nil {
				t.Fatal(err)
			}
			shards := map[string]bool{}
			for _, r := range f.asked() {
				shards[r.ExpressionAttributeValues[":pk"]["S"]] = true
				if r.Operation != "Query" || r.TableName != "s" || r.IndexName != tt.index || r.Limit != tt.limit {
					t.Errorf("got %+v, want a query of index %s for %d", r, tt.index, tt.limit)
				}
				for name, want := range tt.values {
					if got := r.ExpressionAttributeValues[name]["N"]; got != want {
						t.Errorf("%s is %s, want %s", name, got, want)
					}
				}
			}
			for n := range dynamo.Shards {
				if !shards[tt.prefix+strconv.Itoa(n)] {
					t.Errorf("shard %d was not asked", n)
				}
			}
		})
	}
}

// A page may be cut anywhere, and an index may hold less than it promises.
func TestSessionsToCloseAreReadPageByPage(t *testing.T) {
	page := func(n int, next string) string {
		body := fmt.Sprintf(`{\"session_id\":\"s%d\",\"expires\":\"2026-01-01T00:00:%02dZ\"}`, n, n)
		return fmt.Sprintf(`{"Items":[{"pk":{"S":"S#%d"},"ver":{"N":"5"},"body":{"S":"%s"}}]%s}`, n, body, next)
	}
	f := newFake(t, func(w http.ResponseWriter, r request) {
		at, _ := strconv.Atoi(strings.TrimPrefix(r.ExclusiveStartKey["pk"]["S"], "S#"))
		text := `{"Items":[]}`
		switch {
		case r.ExpressionAttributeValues[":pk"]["S"] != "R#x#3":
		case at < 4:
			text = page(at+1, fmt.Sprintf(`,"LastEvaluatedKey":{"pk":{"S":"S#%d"}}`, at+1))
		}
		_, _ = w.Write([]byte(text))
	})
	got, err := newStore(f.url, nil).SessionsOfRun(t.Context(), "R#x")
	if err != nil || len(got) != 4 || got[3].Key != "S#4" || got[3].State.SessionID != "s4" || got[3].State.Ver != 5 {
		t.Errorf("got %+v and %v, want four sessions", got, err)
	}
	left := map[int]bool{}
	for _, r := range f.asked() {
		left[r.Limit] = true
	}
	if !left[997] || left[0] {
		t.Errorf("got limits %v, want each page to ask for what is still wanted", left)
	}
}

func TestSessionsToCloseThatCannotBeReadAreAnError(t *testing.T) {
	for name, a := range map[string]answer{
		"refused": fails(http.StatusBadRequest, "AccessDeniedException"),
		"garbled": func(w http.ResponseWriter, _ request) {
			_, _ = w.Write([]byte(`{"Items":[{"pk":{"S":"S#x"},"body":{"S":"{"}}]}`))
		},
	} {
		s := newStore(newFake(t, a).url, nil)
		if got, err := s.SessionsOfRun(t.Context(), "R#x"); err == nil {
			t.Errorf("%s: got %v and no error of a run", name, got)
		}
		if got, err := s.SessionsExpired(t.Context(), time.Now(), 5); err == nil {
			t.Errorf("%s: got %v and no error of what expired", name, got)
		}
	}
}

// Items of before sessions were closed have neither index nor grace.
func TestStateWithoutAnIndexExpiresByItsAttribute(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for exp, want := range map[int64]string{1_800_000_001: "s", 1_800_000_000: "", 1_799_999_999: ""} {
		f := newFake(t, func(w http.ResponseWriter, r request) {
			switch r.Operation {
			case "GetItem":
				_, _ = fmt.Fprintf(w, `{"Item":{"pk":{"S":"S#x"},"ver":{"N":"7"},"exp":{"N":"%d"},"body":{"S":"{\"session_id\":\"s\"}"}}}`, exp)
			case "PutItem":
				if r.ConditionExpression == "#was = :was" {
					ok(w, r)
					return
				}
				fails(http.StatusBadRequest, "ConditionalCheckFailedException")(w, r)
			}
		})
		s := newStore(f.url, func() time.Time { return now })
		if got, err := s.Load(t.Context(), "S#x"); err != nil || got.SessionID != want {
			t.Errorf("expiry %d: got %+v and %v, want session %q", exp, got, err, want)
		}
		_, err := s.Save(t.Context(), "S#x", stateUntil(now.Add(time.Hour)))
		if live := want != ""; live != (err != nil) {
			t.Errorf("expiry %d: saving gave %v", exp, err)
		}
		puts := 0
		for _, r := range f.asked() {
			if r.Operation == "PutItem" {
				puts++
			}
		}
		if want == "" && puts != 2 {
			t.Errorf("expiry %d: got %d writes, want the one that failed and the one over version 7", exp, puts)
		}
	}
}
