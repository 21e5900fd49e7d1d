package secret_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/secret"
)

var errDown = errors.New("ThrottlingException: arn:aws:secretsmanager:eu-west-1:123456789012:secret:docs")

// store is a source of secrets that a test can change, break and slow down.
type store struct {
	mu     sync.Mutex
	value  string
	err    error
	delay  time.Duration
	asked  int
	most   int // questions under way at once
	active int
}

func (s *store) read(ctx context.Context, tenant string, source secret.Source) (secret.Value, error) {
	s.mu.Lock()
	s.asked++
	s.active++
	s.most = max(s.most, s.active)
	delay := s.delay
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.active--; s.mu.Unlock() }()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return secret.Value{}, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return secret.Value{}, s.err
	}
	return secret.NewValue([]byte(s.value), "v-"+s.value), nil
}

func (s *store) set(value string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value, s.err = value, err
}

func (s *store) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

var (
	docs   = secret.Key{Tenant: "acme", Server: "docs", Ref: "docs-access"}
	source = secret.Source{Env: "X", Secret: "acme/docs"}
)

func get(t *testing.T, c *secret.Cache, want string) {
	t.Helper()
	expect(t, c.Get, want)
}

func renew(t *testing.T, c *secret.Cache, want string) {
	t.Helper()
	expect(t, c.Renew, want)
}

// expect wants the value, or the reason where want begins with "!".
func expect(t *testing.T, read func(context.Context, secret.Key, secret.Source) (secret.Value, *call.Refusal), want string) {
	t.Helper()
	value, refusal := read(t.Context(), docs, source)
	got := string(value.Expose())
	if refusal != nil {
		got = "!" + string(refusal.Reason)
	}
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func asked(t *testing.T, s *store, want int) {
	t.Helper()
	if got := s.count(); got != want {
		t.Errorf("the source was asked %d times, want %d", got, want)
	}
}

// bubble runs a test on a clock of its own.
func bubble(t *testing.T, f func(t *testing.T, s *store, c *secret.Cache)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &store{value: "one"}
		f(t, s, secret.NewCache(s.read, time.Now))
	})
}

func TestCacheAsksOnceWithinTheTTL(t *testing.T) {
	bubble(t, func(t *testing.T, s *store, c *secret.Cache) {
		get(t, c, "one")
		s.set("two", nil)
		time.Sleep(secret.TTL - secret.Jitter - time.Second)
		get(t, c, "one")
		asked(t, s, 1)
		time.Sleep(secret.Jitter + time.Second)
		get(t, c, "two")
		asked(t, s, 2)
	})
}

func TestCacheSpreadsItsQuestions(t *testing.T) {
	bubble(t, func(t *testing.T, s *store, _ *secret.Cache) {
		caches := make([]*secret.Cache, 50)
		for i := range caches {
			caches[i] = secret.NewCache(s.read, time.Now)
			get(t, caches[i], "one")
		}
		time.Sleep(secret.TTL - secret.Jitter/2)
		for _, c := range caches {
			get(t, c, "one")
		}
		if again := s.count() - len(caches); again == 0 || again == len(caches) {
			t.Errorf("%d of %d caches asked again half way through the jitter", again, len(caches))
		}
	})
}

func TestCacheAsksOneQuestionAtATime(t *testing.T) {
	bubble(t, func(t *testing.T, s *store, c *secret.Cache) {
		s.delay = time.Second
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { get(t, c, "one") })
		}
		all.Wait()
		asked(t, s, 1)
	})
}

func TestWaitersGoOnWhenTheAskerLeaves(t *testing.T) {
	bubble(t, func(t *testing.T, s *store, c *secret.Cache) {
		s.delay = time.Second
		leaving, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, refusal := c.Get(leaving, docs, source); refusal == nil || !errors.Is(refusal, context.Canceled) {
				t.Errorf("the asker who left got %v", refusal)
			}
		})
		synctest.Wait()
		for range 5 {
			all.Go(func() { get(t, c, "one") })
		}
		synctest.Wait()
		leave()
		all.Wait()
		asked(t, s, 2)
		if s.most != 1 {
			t.Errorf("%d questions were under way at once", s.most)
		}
	})
}

func TestAWaiterLeavesByItsOwnDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, s *store, c *secret.Cache) {
		s.delay = 2 * time.Second
		var all sync.WaitGroup
		all.Go(func() { get(t, c, "one") })
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		_, refusal := c.Get(short, docs, source)
		if refusal == nil || refusal.Reason != call.SecretUnavailable || time.Since(begun) != time.Second {
			t.Errorf("got %v after %v", refusal, time.Since(begun))
		}
		all.Wait()
	})
}

func TestAPanickingReaderStrandsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		c := secret.NewCache(func(context.Context, string, secret.Source) (secret.Value, error) {
			if calls.Add(1) == 1 {
				time.Sleep(time.Second)
				panic("reader")
			}
			return secret.NewValue([]byte("one"), "1"), nil
		}, time.Now)
		var all sync.WaitGroup
		all.Go(func() {
			defer func() { _ = recover() }()
			_, _ = c.Get(t.Context(), docs, source)
		})
		synctest.Wait()
		all.Go(func() { get(t, c, "one") })
		all.Wait()
	})
}

func TestStaleValuesAreServedWhileTheSourceIsDown(t *testing.T) {
	bubble(t, func(t *testing.T, s *store, c *secret.Cache) {
		get(t, c, "one")
		s.set("", errDown)
		time.Sleep(secret.TTL)
		get(t, c, "one")
		get(t, c, "one")
		asked(t, s, 2)
		time.Sleep(secret.StalePause)
		get(t, c, "one")
		asked(t, s, 3)
		s.set("two", nil)
		time.Sleep(secret.StalePause)
		get(t, c, "two")
	})
}

func TestStaleValuesEndAtTheirBound(t *testing.T) {
	bubble(t, func(t *testing.T, s *store, c *secret.Cache) {
		get(t, c, "one")
		s.set("", errDown)
		time.Sleep(secret.StaleFor - time.Second)
		get(t, c, "one")
		time.Sleep(secret.StalePause)
		get(t, c, "!secret_unavailable")
	})
}

func TestAHangingSourceIsLeftForTheStaleValue(t *testing.T) {
	bubble(t, func(t *testing.T, s *store, c *secret.Cache) {
		get(t, c, "one")
		time.Sleep(secret.TTL)
		s.delay = time.Hour
		begun := time.Now()
		get(t, c, "one")
		if took := time.Since(begun); took != secret.ReadTime {
			t.Errorf("waited %v, want %v", took, secret.ReadTime)
		}
	})
}

func TestADeletedSecretIsMissingAtOnceItIsKnown(t *testing.T) {
	bubble(t, func(t *testing.T, s *store, c *secret.Cache) {
		get(t, c, "one")
		s.set("", fmt.Errorf("reading: %w", secret.ErrNotFound))
		time.Sleep(secret.TTL)
		get(t, c, "!secret_missing")
		s.set("", errDown)
		get(t, c, "!secret_unavailable")
		s.set("two", nil)
		get(t, c, "two")
	})
}

func TestAnEmptySecretIsMissing(t *testing.T) {
	bubble(t, func(t *testing.T, s *store, c *secret.Cache) {
		s.set("", nil)
		get(t, c, "!secret_missing")
	})
}

func TestRenewAsksAgain(t *testing.T) {
	bubble(t, func(t *testing.T, s *store, c *secret.Cache) {
		get(t, c, "one")
		s.set("two", nil)
		renew(t, c, "two")
		get(t, c, "two")
		asked(t, s, 2)
		s.set("three", nil)
		renew(t, c, "three")
		asked(t, s, 3)
	})
}

func TestRenewalsInVainArePaced(t *testing.T) {
	bubble(t, func(t *testing.T, s *store, c *secret.Cache) {
		get(t, c, "one")
		for range 10 {
			renew(t, c, "one")
		}
		asked(t, s, 2)
		s.set("two", nil)
		renew(t, c, "one")
		time.Sleep(secret.RenewPause)
		renew(t, c, "two")
		asked(t, s, 3)
	})
}

func TestRenewWhileTheSourceIsDownGivesTheOldValue(t *testing.T) {
	bubble(t, func(t *testing.T, s *store, c *secret.Cache) {
		get(t, c, "one")
		s.set("", errDown)
		renew(t, c, "one")
		renew(t, c, "one")
		asked(t, s, 2)
	})
}

func TestRenewOfADeletedSecretForgetsIt(t *testing.T) {
	bubble(t, func(t *testing.T, s *store, c *secret.Cache) {
		get(t, c, "one")
		s.set("", secret.ErrNotFound)
		renew(t, c, "!secret_missing")
		get(t, c, "!secret_missing")
	})
}

func TestValuesAreKeptApart(t *testing.T) {
	keys := map[string]struct {
		key    secret.Key
		source secret.Source
	}{
		"same":           {docs, source},
		"other tenant":   {secret.Key{Tenant: "umbra", Server: "docs", Ref: "docs-access"}, source},
		"other server":   {secret.Key{Tenant: "acme", Server: "wiki", Ref: "docs-access"}, source},
		"other ref":      {secret.Key{Tenant: "acme", Server: "docs", Ref: "wiki-access"}, source},
		"other env":      {docs, secret.Source{Env: "Y", Secret: "acme/docs"}},
		"other secret":   {docs, secret.Source{Env: "X", Secret: "acme/wiki"}},
		"shifted fields": {secret.Key{Tenant: "acmedocs", Server: "", Ref: "docs-access"}, source},
	}
	for name, c := range keys {
		synctest.Test(t, func(t *testing.T) {
			s := &store{value: "one"}
			cache := secret.NewCache(s.read, time.Now)
			get(t, cache, "one")
			s.set("two", nil)
			value, refusal := cache.Get(t.Context(), c.key, c.source)
			if refusal != nil {
				t.Fatal(refusal)
			}
			want := "two"
			if name == "same" {
				want = "one"
			}
			if got := string(value.Expose()); got != want {
				t.Errorf("%s: got %s, want %s", name, got, want)
			}
		})
	}
}

func TestTheReaderIsToldWhatToRead(t *testing.T) {
	c := secret.NewCache(func(_ context.Context, tenant string, s secret.Source) (secret.Value, error) {
		return secret.NewValue([]byte(tenant+" "+s.Env+" "+s.Secret), "1"), nil
	}, time.Now)
	get(t, c, "acme X acme/docs")
}

func TestTheCacheIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T, s *store, c *secret.Cache) {
		read := func(i int) {
			key := secret.Key{Tenant: "acme", Server: "docs", Ref: fmt.Sprint(i)}
			if _, refusal := c.Get(t.Context(), key, source); refusal != nil {
				t.Fatal(refusal)
			}
		}
		for i := range secret.MaxEntries {
			read(i)
			time.Sleep(time.Millisecond)
		}
		asked(t, s, secret.MaxEntries)
		read(secret.MaxEntries) // makes room by dropping 0
		read(1)
		asked(t, s, secret.MaxEntries+1)
		read(0)
		asked(t, s, secret.MaxEntries+2)
	})
}

func TestRefusalsKeepTheSourceToThemselves(t *testing.T) {
	bubble(t, func(t *testing.T, s *store, c *secret.Cache) {
		s.set("", errDown)
		_, refusal := c.Get(t.Context(), docs, source)
		if refusal == nil || strings.Contains(refusal.Error(), "arn:") || !errors.Is(refusal, errDown) {
			t.Errorf("got %v", refusal)
		}
		if !strings.Contains(refusal.Detail, "docs-access") {
			t.Errorf("the detail %q does not name the reference", refusal.Detail)
		}
	})
}
