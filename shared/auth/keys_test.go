package auth_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcprelay/shared/auth"
	"mcprelay/shared/call"
	"mcprelay/shared/endpoint"
)

// at moves the clock and gives what a fresh token of a key comes to then.
func (c *court) at(t *testing.T, off time.Duration, id string) string {
	t.Helper()
	c.clock.at = c.clock.at.Add(off)
	f := genuine(c.clock.at)
	f.header["kid"], f.key = `"`+id+`"`, keys()[id]
	return c.judge(t, f.text(t))
}

func (c *court) wantFetched(t *testing.T, want int) {
	t.Helper()
	if c.fetched != want {
		t.Errorf("the keys were fetched %d times, want %d", c.fetched, want)
	}
}

func TestKeysAreFetchedOnceAndUsedForTheirAge(t *testing.T) {
	c := newCourt(t, remote)
	for range 5 {
		if got := c.at(t, 0, "rsa"); got != "alice" {
			t.Fatalf("got %s", got)
		}
	}
	c.wantFetched(t, 1)
	c.at(t, auth.KeysAge-time.Second, "rsa")
	c.wantFetched(t, 1)
	c.set = jwks("other")
	if got := c.at(t, time.Second, "rsa"); got != "!unauthenticated" {
		t.Errorf("a key that was withdrawn: got %s", got)
	}
	c.wantFetched(t, 2)
}

func TestUnknownKeysAreLookedForOnceAMinute(t *testing.T) {
	c := newCourt(t, remote)
	c.at(t, 0, "rsa")
	for range 10 {
		if got := c.at(t, time.Second, "other"); got != "!unauthenticated" {
			t.Fatalf("got %s", got)
		}
	}
	c.wantFetched(t, 1)
	c.set = jwks("rsa", "other")
	if got := c.at(t, auth.KeysPause-11*time.Second, "other"); got != "!unauthenticated" {
		t.Errorf("a second early: got %s", got)
	}
	c.wantFetched(t, 1)
	if got := c.at(t, time.Second, "other"); got != "alice" {
		t.Errorf("a minute later: got %s", got)
	}
	c.wantFetched(t, 2)
}

func TestStaleKeysAreUsedWhileTheIssuerIsDown(t *testing.T) {
	c := newCourt(t, remote)
	c.at(t, 0, "rsa")
	c.down = errors.New("connection refused")
	if got := c.at(t, auth.KeysAge, "rsa"); got != "alice" {
		t.Errorf("got %s", got)
	}
	c.wantFetched(t, 2)
	c.at(t, auth.KeysPause-time.Second, "rsa")
	c.wantFetched(t, 2) // a failure counts as a question too
	if got := c.at(t, auth.KeysStale-auth.KeysAge-auth.KeysPause, "rsa"); got != "alice" {
		t.Errorf("in the last second: got %s", got)
	}
	if got := c.at(t, time.Second, "rsa"); got != "!auth_unavailable" {
		t.Errorf("after a day: got %s", got)
	}
	c.down = nil
	if got := c.at(t, auth.KeysPause, "rsa"); got != "alice" {
		t.Errorf("when it is back: got %s", got)
	}
}

func TestAnIssuerThatNeverAnsweredIsSaidSo(t *testing.T) {
	for name, answer := range map[string]string{"down": "", "not JSON": "<html>", "no set": `{}`, "null": `{"keys":null}`, "twice": `{"keys":[],"keys":[]}`} {
		c := newCourt(t, remote)
		if c.set = answer; answer == "" {
			c.down = errors.New("connection refused")
		}
		_, refusal := c.auth.Authenticate(t.Context(), bearer(genuine(c.clock.at).text(t)))
		if refusal == nil || refusal.Reason != call.AuthUnavailable || refusal.RetryAfter < 1 || refusal.RetryAfter > 61 {
			t.Errorf("%s: got %v", name, refusal)
		}
		for range 5 {
			c.at(t, time.Second, "rsa")
		}
		c.wantFetched(t, 1)
	}
}

func TestAnEmptySetIsAnAnswer(t *testing.T) {
	c := newCourt(t, remote)
	c.at(t, 0, "rsa")
	c.set = `{"keys":[]}`
	if got := c.at(t, auth.KeysAge, "rsa"); got != "!unauthenticated" {
		t.Errorf("an issuer that withdrew every key: got %s", got)
	}
}

func TestNothingIsFetchedForTokensThatAreWrongAnyway(t *testing.T) {
	for name, change := range map[string]func(*forged){
		"another issuer":   func(f *forged) { f.claims["iss"] = `"https://evil.example.com"` },
		"another audience": func(f *forged) { f.claims["aud"] = `"x"` },
		"an algorithm":     func(f *forged) { f.header["alg"] = `"HS256"`; f.secret = []byte("x") },
		"expired":          func(f *forged) { f.claims["exp"] = "1" },
		"a key of its own": func(f *forged) { f.header["jku"] = `"https://evil.example.com/keys"` },
	} {
		c := newCourt(t, remote)
		f := genuine(c.clock.at)
		change(f)
		if got := c.judge(t, f.text(t)); got != "!unauthenticated" {
			t.Errorf("%s: got %s", name, got)
		}
		c.wantFetched(t, 0)
	}
}

func TestKeysAreOnlyReadWhereSomethingCanRead(t *testing.T) {
	c := newCourt(t, remote)
	a := auth.New(auth.Options{Now: c.clock.now, Issuers: func(context.Context, string) ([]auth.Issuer, error) { return c.issuers, nil }})
	if _, refusal := a.Authenticate(t.Context(), bearer(genuine(c.clock.at).text(t))); refusal == nil || refusal.Reason != call.AuthUnavailable {
		t.Errorf("got %v, want auth_unavailable", refusal)
	}
}

// Many callers at once are one question, and whoever can be answered with the
// keys of before does not wait for it.
func TestOneQuestionIsUnderWayAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked := 0
		trusted := newCourt(t, remote).issuers
		a := auth.New(auth.Options{
			Issuers: func(context.Context, string) ([]auth.Issuer, error) { return trusted, nil },
			Fetch: func(ctx context.Context, _ endpoint.URL) ([]byte, error) {
				mu.Lock()
				asked++
				mu.Unlock()
				select {
				case <-time.After(2 * time.Second):
					return []byte(jwks("rsa")), nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			},
		})
		all := func() (slow int) {
			var group sync.WaitGroup
			for range 50 {
				group.Go(func() {
					began := time.Now()
					if _, refusal := a.Authenticate(t.Context(), bearer(genuine(time.Now()).text(t))); refusal != nil {
						t.Error(refusal)
					}
					if time.Since(began) > time.Second {
						mu.Lock()
						slow++
						mu.Unlock()
					}
				})
			}
			group.Wait()
			return slow
		}
		if slow := all(); slow != 50 || asked != 1 {
			t.Errorf("%d waited for %d questions, want 50 and 1", slow, asked)
		}
		time.Sleep(auth.KeysAge)
		if slow := all(); slow != 1 || asked != 2 {
			t.Errorf("%d waited for %d questions, want 1 and 2", slow, asked)
		}
	})
}

// Whoever asked first may go away: the answer is for the others too.
func TestAQuestionOutlivesWhoAskedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trusted := newCourt(t, remote).issuers
		a := auth.New(auth.Options{
			Issuers: func(context.Context, string) ([]auth.Issuer, error) { return trusted, nil },
			Fetch: func(ctx context.Context, _ endpoint.URL) ([]byte, error) {
				<-ctx.Done()
				return nil, fmt.Errorf("after %v: %w", auth.KeysBudget, ctx.Err())
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		cancel()
		_, refusal := a.Authenticate(ctx, bearer(genuine(time.Now()).text(t)))
		if took := time.Since(began); took != auth.KeysBudget || refusal == nil || !errors.Is(refusal, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", took, refusal)
		}
	})
}

// A process keeps the keys of so many issuers, and drops those that nobody asked
// about within the pause: never others, whose pause a flood would end.
func TestKeysOfSoManyIssuersAreKept(t *testing.T) {
	c := newCourt(t, remote)
	c.set = jwks("ed")
	one := c.issuers[0]
	ask := func(n int) string {
		i := one
		i.Issuer = fmt.Sprintf("%s/%d", issuer, n)
		uri, err := endpoint.Parse(i.Issuer+"/keys", endpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		i.JWKSURI = uri
		c.issuers = []auth.Issuer{i}
		if n%auth.MaxUnknown == 0 {
			c.clock.at = c.clock.at.Add(time.Second)
		}
		f := genuine(c.clock.at)
		f.by("EdDSA", "ed")
		f.claims["iss"] = `"` + i.Issuer + `"`
		return c.judge(t, f.text(t))
	}
	for n := range auth.MaxRings {
		if got := ask(n); got != "alice" {
			t.Fatalf("issuer %d: got %s", n, got)
		}
	}
	if got := ask(auth.MaxRings); got != "!auth_unavailable" {
		t.Errorf("one issuer more: got %s", got)
	}
	c.wantFetched(t, auth.MaxRings)
	c.clock.at = c.clock.at.Add(auth.KeysPause)
	if got := ask(auth.MaxRings); got != "alice" {
		t.Errorf("when there is room: got %s", got)
	}
	ask(0)
	c.wantFetched(t, auth.MaxRings+2)
}

// What makes a key too weak, too large or odd, and a set too long.
func TestBoundsOfKeys(t *testing.T) {
	const wrong, none = "the signature of the token is wrong", "no key of the issuer has the key id of the token"
	modulus := func(bits int) string {
		n := new(big.Int).SetBit(big.NewInt(1), bits-1, 1)
		return base64.RawURLEncoding.EncodeToString(n.Bytes())
	}
	rsa := func(bits int, e string) string {
		return `{"kty":"RSA","kid":"rsa","n":"` + modulus(bits) + `","e":"` + e + `"}`
	}
	others := func(n int) string { return strings.Repeat(jwk("p256")+",", n) }
	for name, c := range map[string]struct{ keys, want string }{
		"2047 bits":            {rsa(2047, "AQAB"), none},
		"2048 bits":            {rsa(2048, "AQAB"), wrong},
		"4096 bits":            {rsa(4096, "AQAB"), wrong},
		"4097 bits":            {rsa(4097, "AQAB"), none},
		"exponent 1":           {rsa(2048, "AQ"), none},
		"exponent 2":           {rsa(2048, "Ag"), none},
		"exponent 3":           {rsa(2048, "Aw"), wrong},
		"64 keys":              {others(63) + rsa(2048, "AQAB"), wrong},
		"65 keys":              {others(64) + rsa(2048, "AQAB"), "the keys of the issuer could not be read"},
		"as long as it can be": {`"` + strings.Repeat("x", auth.MaxKeys-len(`{"keys":[],"more":""}`)-len(rsa(2048, "AQAB"))) + `"`, wrong},
		"longer":               {`"` + strings.Repeat("x", auth.MaxKeys+1-len(`{"keys":[],"more":""}`)-len(rsa(2048, "AQAB"))) + `"`, "the keys of the issuer could not be read"},
	} {
		court := newCourt(t, remote)
		if court.set = `{"keys":[` + c.keys + `]}`; strings.HasPrefix(c.keys, `"`) {
			court.set = `{"keys":[` + rsa(2048, "AQAB") + `],"more":` + c.keys + `}`
		}
		_, refusal := court.auth.Authenticate(t.Context(), bearer(genuine(court.clock.at).text(t)))
		if refusal == nil || refusal.Detail != c.want {
			t.Errorf("%s: got %v, want %s", name, refusal, c.want)
		}
	}
}
