package stdio_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/stdio"
)

// TestACancelledCallReturnsAtOnceAndTheChildGoesOn: the child is told, and
// what it says about the request later is nobody's.
func TestACancelledCallReturnsAtOnceAndTheChildGoesOn(t *testing.T) {
	for _, era := range []string{stdio.Modern, stdio.Legacy} {
		t.Run(era, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, starts := staged(script{Era: era})
				defer shut(t, p)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				began := time.Now()
				got, facts := refused(t, ctx, p, ask(stdio.Spec{}, "hold"))
				want(t, got, call.Cancelled, call.ImpactUnknown)
				if took := time.Since(began); took != time.Second || !facts.Cancelled || facts.Requests != 1 {
					t.Errorf("after %v: %+v", took, facts)
				}
				reply := result(t, p, ask(stdio.Spec{}, "release"))
				if strings.Contains(string(reply.Result), "late") || starts.Load() != 1 {
					t.Errorf("got %s after %d starts", reply.Result, starts.Load())
				}
				checkCancelled(t, logOf(t, p, ask(stdio.Spec{}, "")), "cancelled")
			})
		})
	}
}

// checkCancelled looks for the notification about the request before it.
func checkCancelled(t *testing.T, log []string, reason string) {
	t.Helper()
	for i, line := range log {
		if !strings.Contains(line, "notifications/cancelled") {
			continue
		}
		var request struct{ ID json.RawMessage }
		if err := json.Unmarshal([]byte(log[i-1]), &request); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":%q}}`, request.ID, reason)
		if line != want {
			t.Errorf("got %s, want %s", line, want)
		}
		return
	}
	t.Errorf("the child was not told: %q", log)
}

func TestADeadlineReachesTheChildToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := staged(script{})
		defer shut(t, p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		got, facts := refused(t, ctx, p, ask(stdio.Spec{}, "hold"))
		want(t, got, call.CallTimeout, call.ImpactUnknown)
		if took := time.Since(began); took != time.Minute || !facts.Cancelled {
			t.Errorf("after %v: %+v", took, facts)
		}
		checkCancelled(t, logOf(t, p, ask(stdio.Spec{}, "")), "call_timeout")
	})
}

// TestAChildThatDoesNotGetBackIsEnded: the next call gets another one, no
// later than Close after the cancellation.
func TestAChildThatDoesNotGetBackIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, starts := staged(script{})
		defer shut(t, p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		spec := stdio.Spec{Close: 4 * time.Second}
		got, _ := refused(t, ctx, p, ask(spec, "stuck"))
		want(t, got, call.CallTimeout, call.ImpactUnknown)
		began := time.Now()
		reply := result(t, p, ask(spec, "echo"))
		// 4 s to get back, 2 s to end by itself after its stdin was closed.
		if took := time.Since(began); took != 6*time.Second || starts.Load() != 2 || reply.Facts.Session != stdio.SessionRenewed {
			t.Errorf("after %v and %d starts: %+v", took, starts.Load(), reply.Facts)
		}
	})
}

// TestAChildThatAnswersLateGetsBack answers the cancelled request instead of
// the question whether it is there.
func TestAChildThatAnswersLateGetsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, starts := staged(script{Era: stdio.Legacy, Deaf: "ping"})
		defer shut(t, p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		refused(t, ctx, p, ask(stdio.Spec{}, "doze 1500"))
		began := time.Now()
		result(t, p, ask(stdio.Spec{}, "echo"))
		// A staged stdin holds nothing, so telling the child took 100 ms of the 500.
		if took := time.Since(began); took != 400*time.Millisecond || starts.Load() != 1 {
			t.Errorf("after %v and %d starts", took, starts.Load())
		}
	})
}

func TestACallThatWaitsForItsTurnIsBoundedByItsContext(t *testing.T) {
	p := newPool(t, nil)
	spec := scripted(script{})
	leave := hold(t, p, ask(spec, "hold"))
	late, cancel := context.WithDeadline(within(t), time.Now().Add(10*time.Millisecond))
	defer cancel()
	got, facts := refused(t, late, p, ask(spec, "echo"))
	want(t, got, call.TooManyInFlight, call.ImpactNone)
	gone, cancel := context.WithCancel(within(t))
	cancel()
	got, _ = refused(t, gone, p, ask(spec, "echo"))
	want(t, got, call.Cancelled, call.ImpactNone)
	if facts.Requests != 0 || facts.PID != 0 {
		t.Errorf("facts %+v of a call that had no turn", facts)
	}
	leave()
	if got := methodsOf(t, p, ask(spec, "")); strings.Count(got, "tools/call") != 2 {
		t.Errorf("the child was sent %s: a call that had left", got)
	}
}

func TestACallThatWaitsForAPlaceIsBoundedByItsContext(t *testing.T) {
	p := newPool(t, nil)
	for i := range stdio.MaxChildren {
		r := ask(scripted(script{}), "hold")
		r.Key = "key " + itoa(i)
		defer hold(t, p, r)()
	}
	late, cancel := context.WithDeadline(within(t), time.Now().Add(10*time.Millisecond))
	defer cancel()
	got, facts := refused(t, late, p, ask(scripted(script{}), "echo"))
	want(t, got, call.TooManyInFlight, call.ImpactNone)
	if facts.PID != 0 {
		t.Errorf("a child more than there may be: %+v", facts)
	}
}

// TestARequestThatWasWrittenInPartEndsTheChild has a child that reads no more
// when a request comes that no pipe holds.
func TestARequestThatWasWrittenInPartEndsTheChild(t *testing.T) {
	p := newPool(t, nil)
	r := ask(scripted(script{}), "deaf")
	r.Spec.Close = 100 * time.Millisecond
	result(t, p, r)
	late, cancel := context.WithDeadline(within(t), time.Now().Add(100*time.Millisecond))
	defer cancel()
	r.Tool, r.Arguments = "echo", json.RawMessage(`{"pad":"`+strings.Repeat("x", 1<<20-100)+`"}`)
	got, facts := refused(t, late, p, r)
	want(t, got, call.CallTimeout, call.ImpactUnknown)
	if facts.Requests != 1 || facts.Cancelled || facts.BytesOut >= 1<<20-100 {
		t.Errorf("facts %+v of a request that was written in part", facts)
	}
	if again := result(t, p, r).Facts; again.PID == facts.PID || again.Session != stdio.SessionRenewed {
		t.Errorf("a child with a part of a line is still used: %+v", again)
	}
	dies(t, facts.PID)
}

// TestNothingFollowsAPartOfALine: whoever reads it would take both for one.
func TestNothingFollowsAPartOfALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rest := make(chan string, 1)
		p := stdio.NewStaged(stdio.Config{}, func(*stdio.Spec) stdio.Actor {
			return func(stdin io.Reader, stdout, _ io.Writer) string {
				openModern(stdin, stdout)
				_, _ = io.ReadFull(stdin, make([]byte, 10))
				time.Sleep(2 * time.Second)
				text, _ := io.ReadAll(stdin)
				rest <- string(text)
				return "exit status 0"
			}
		})
		defer shut(t, p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got, facts := refused(t, ctx, p, ask(stdio.Spec{Close: time.Minute}, "echo"))
		want(t, got, call.CallTimeout, call.ImpactUnknown)
		if got := <-rest; got != "" || facts.Cancelled || facts.Requests != 1 {
			t.Errorf("after a part of the request came %q; %+v", got, facts)
		}
	})
}

// openModern answers the server/discover that a child is sent first.
func openModern(stdin io.Reader, stdout io.Writer) {
	_, _ = bufio.NewReader(stdin).ReadString('\n') // a staged stdin gives one line at a time
	fmt.Fprintln(stdout, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}}`)
}

// TestAnAnswerThatComesEarlyCounts, but a child that has not read its request
// is not asked again.
func TestAnAnswerThatComesEarlyCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := stdio.NewStaged(stdio.Config{}, func(*stdio.Spec) stdio.Actor {
			return func(stdin io.Reader, stdout, _ io.Writer) string {
				openModern(stdin, stdout)
				_, _ = io.ReadFull(stdin, make([]byte, 10))
				fmt.Fprintln(stdout, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
				return "exit status 0"
			}
		})
		defer shut(t, p)
		for range 3 {
			got := result(t, p, ask(stdio.Spec{}, "echo"))
			if string(got.Result) != `{"content":[]}` || got.Facts.Session == stdio.SessionReused {
				t.Errorf("got %s and %+v", got.Result, got.Facts)
			}
		}
	})
}

// TestAChildThatTakesAPartMaySayWhy: it has Close for that.
func TestAChildThatTakesAPartMaySayWhy(t *testing.T) {
	for name, answers := range map[string]bool{"in time": true, "never": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := stdio.NewStaged(stdio.Config{}, func(*stdio.Spec) stdio.Actor {
					return func(stdin io.Reader, stdout, _ io.Writer) string {
						openModern(stdin, stdout)
						_, _ = io.ReadFull(stdin, make([]byte, 10))
						_ = stdin.(io.Closer).Close()
						time.Sleep(time.Second)
						if answers {
							fmt.Fprintln(stdout, `{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"too large"}}`)
						}
						time.Sleep(time.Hour)
						return "exit status 0"
					}
				})
				defer shut(t, p)
				began := time.Now()
				reply, err := p.Call(within(t), ask(stdio.Spec{Close: 3 * time.Second}, "echo"))
				took := time.Since(began)
				if answers && (err != nil || reply.Error == nil || took != time.Second) {
					t.Errorf("got %+v, error %v after %v", reply, err, took)
				}
				if !answers {
					want(t, refusalOf(t, err), call.ProcessEnded, call.ImpactUnknown)
					if took != 3*time.Second {
						t.Errorf("it took %v, want 3 s", took)
					}
				}
			})
		})
	}
}

// TestAChildThatClosedItsStdinIsReplaced: not a byte was written to it.
func TestAChildThatClosedItsStdinIsReplaced(t *testing.T) {
	p := newPool(t, nil)
	r := ask(scripted(script{}), "shut")
	r.Spec.Close = 100 * time.Millisecond
	before := result(t, p, r).Facts
	r.Tool = "echo"
	got := result(t, p, r).Facts
	if got.PID == before.PID || got.Session != stdio.SessionRenewed || got.Requests != 1 {
		t.Errorf("a child that takes nothing is still used: %+v", got)
	}
	dies(t, before.PID)
}
