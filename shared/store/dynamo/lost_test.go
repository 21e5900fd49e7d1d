package dynamo_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/oklog/ulid/v2"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
	"mcprelay/shared/idempotency"
	"mcprelay/shared/registry"
	"mcprelay/shared/secret"
	"mcprelay/shared/session"
	"mcprelay/shared/store/dynamo"
	"mcprelay/shared/token"
	"mcprelay/test/peers"
)

func isMissing(err error) bool { return errors.Is(err, secret.ErrNotFound) }

// lossy passes requests on to dynalite and, while armed, cuts the connection
// instead of giving the answer of a write that has been carried out.
type lossy struct {
	url   string
	armed atomic.Bool
	skip  atomic.Int32 // how many answers come through before
	lost  atomic.Int32
}

func newLossy(t *testing.T, upstream string) *lossy {
	t.Helper()
	l := &lossy{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		req, _ := http.NewRequestWithContext(r.Context(), r.Method, upstream, strings.NewReader(string(body)))
		req.Header = r.Header.Clone()
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer res.Body.Close()
		if writes(r.Header.Get("X-Amz-Target")) && l.armed.Load() && l.skip.Add(-1) < 0 && l.armed.CompareAndSwap(true, false) {
			_, _ = io.Copy(io.Discard, res.Body)
			l.lost.Add(1)
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
		w.WriteHeader(res.StatusCode)
		_, _ = io.Copy(w, res.Body)
	}))
	t.Cleanup(server.Close)
	l.url = server.URL
	return l
}

// writes reports whether an operation writes an item.
func writes(target string) bool {
	return strings.HasSuffix(target, ".PutItem") || strings.HasSuffix(target, ".UpdateItem")
}

// onDynalite makes the tables and gives a store that reaches them through url.
func onDynalite(t *testing.T, url string) *dynamo.Store {
	t.Helper()
	prefix := "l" + strings.ToLower(ulid.Make().String()) + "-"
	direct, _ := dynamo.Clients(configOf(peers.Dynalite(t)))
	for _, table := range dynamo.Schema() {
		name := prefix + table.Name
		if _, err := direct.CreateTable(t.Context(), table.CreateTable(name)); err != nil {
			t.Fatal(err)
		}
		err := dynamodb.NewTableExistsWaiter(direct, func(o *dynamodb.TableExistsWaiterOptions) {
			o.MinDelay, o.MaxDelay = 10*time.Millisecond, 100*time.Millisecond
		}).Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: &name}, 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_, _ = direct.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
		})
	}
	db, sm := dynamo.Clients(configOf(url))
	return dynamo.New(dynamo.Config{
		DynamoDB: db, Secrets: sm,
		Registry: prefix + dynamo.Registry, State: prefix + dynamo.State, Audit: prefix + dynamo.Audit,
	})
}

// The SDK repeats a write whose answer was lost, and the condition of the
// repeated write fails on the item of the first. That is not somebody else's.
func TestAWriteWhoseAnswerWasLostIsNotMistaken(t *testing.T) {
	l := newLossy(t, peers.Dynalite(t))
	s := onDynalite(t, l.url)
	ctx := t.Context()
	r := recordAt(time.Now().UTC())
	minted := token.Record{KeyID: "abcd1234", Hash: token.Hash("x"), Tenant: "acme", Subject: "ci", Kind: call.KindServiceToken}
	over := func(key session.Key) error {
		_, err := s.Save(ctx, key, stateUntil(time.Now().Add(time.Hour)))
		return err
	}
	for _, key := range []session.Key{"S#0", "S#1", "S#2"} {
		if _, err := s.Save(ctx, key, stateUntil(time.Now().Add(-time.Hour))); err != nil {
			t.Fatal(err)
		}
	}
	old := recordOf("old", idempotency.Running)
	old.Expires = time.Now().Add(-time.Hour)
	for key, record := range map[idempotency.Key]idempotency.Record{"I#1": old, "I#2": recordOf("one", ""), "I#3": recordOf("one", "")} {
		if _, mine, err := s.BeginKey(ctx, key, record); err != nil || !mine {
			t.Fatalf("%s: began %v, %v", key, mine, err)
		}
	}
	rules := registry.Document{Kind: registry.KindRules, Body: json.RawMessage(`[]`)}
	for _, tt := range []struct {
		name  string
		write func() error
		again error // of the same write by somebody else
	}{
		{"Intent", func() error { return s.Intent(ctx, r) }, dynamo.ErrExists},
		{"Final", func() error { return s.Final(ctx, r) }, dynamo.ErrAlreadyFinal},
		{"PutDocument", func() error { _, err := s.PutDocument(ctx, "acme", rules); return err }, registry.ErrConflict},
		{"PutToken", func() error { return s.PutToken(ctx, minted) }, nil},
		{"Save", func() error { _, err := s.Save(ctx, "S#x", stateUntil(time.Now().Add(time.Hour))); return err }, errConflict},
		{"PutCatalog", func() error { _, err := s.PutCatalog(ctx, "acme", "docs", catalogOf(2, "x")); return err }, catalog.ErrConflict},
		{"PutCatalog: the item that makes it hold", func() error { _, err := s.PutCatalog(ctx, "acme", "docs2", catalogOf(2, "x")); return err }, catalog.ErrConflict},
		{"BeginKey", func() error { return beginKey(ctx, s, "I#0") }, errInTheWay},
		{"BeginKey over one that expired", func() error { return beginKey(ctx, s, "I#1") }, errInTheWay},
		{"EndKey", func() error { return s.EndKey(ctx, "I#2", recordOf("one", idempotency.Done)) }, idempotency.ErrConflict},
		{"EndKey that gives it back", func() error { return s.EndKey(ctx, "I#3", recordOf("one", "")) }, nil},
		{"Save over an expired session: the attempt", func() error { return over("S#0") }, errConflict},
		{"Save over an expired session: what is set aside", func() error { return over("S#1") }, errConflict},
		{"Save over an expired session: the state", func() error { return over("S#2") }, errConflict},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, part, _ := strings.Cut(tt.name, ": ")
			l.skip.Store(map[string]int32{"the item that makes it hold": 3, "what is set aside": 1, "the state": 2}[part])
			l.armed.Store(true)
			before := l.lost.Load()
			if err := tt.write(); err != nil {
				t.Errorf("got %v, want the write to count as done", err)
			}
			if l.lost.Load() != before+1 {
				t.Error("no answer was lost: the test proves nothing")
			}
			if err := tt.write(); !errors.Is(err, tt.again) {
				t.Errorf("the same again: got %v, want %v", err, tt.again)
			}
		})
	}
	got, _, err := s.Audit(ctx, audit.Filter{Tenant: "acme", Since: r.Time.Add(-time.Hour)})
	if err != nil || len(got) != 1 || got[0].State != audit.StateFinal {
		t.Errorf("got %+v and %v, want one final", got, err)
	}
	if left, err := s.SessionsExpired(ctx, time.Now(), 10); err != nil || len(left) != 3 {
		t.Errorf("got %+v and %v, want the three that gave way", left, err)
	}
}
