package event_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"mcprelay/shared/call"
	"mcprelay/shared/event"
)

// invoke runs a handler for a plain event.
func invoke(t *testing.T, ctx context.Context, o event.Options, h http.HandlerFunc) *events.APIGatewayProxyStreamingResponse {
	t.Helper()
	out, err := event.Handler(h, o)(ctx, post("/", "{}", nil))
	if err != nil {
		t.Fatalf("the adapter failed: %v", err)
	}
	return out
}

func TestTheFirstByteArrivesWhileTheHandlerStillWorks(t *testing.T) {
	finish := make(chan struct{})
	out := invoke(t, context.Background(), event.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": first\n\n")
		<-finish
		_, _ = io.WriteString(w, "data: last\n\n")
	})
	first := make([]byte, 64)
	n, err := out.Body.Read(first)
	if err != nil || string(first[:n]) != ": first\n\n" {
		t.Fatalf("got %q, %v, want the first comment", first[:n], err)
	}
	if out.StatusCode != 200 || out.Headers["Content-Type"] != "text/event-stream" {
		t.Errorf("got head %d %v", out.StatusCode, out.Headers)
	}
	close(finish)
	rest, err := io.ReadAll(out.Body)
	if err != nil || string(rest) != "data: last\n\n" {
		t.Errorf("got %q, %v, want the rest", rest, err)
	}
}

func TestAFlushCommitsTheHeadWithoutABody(t *testing.T) {
	finish := make(chan struct{})
	out := invoke(t, context.Background(), event.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Before", "yes")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("flushing: %v", err)
		}
		w.Header().Set("X-After", "yes")
		w.WriteHeader(http.StatusTeapot)
		<-finish
	})
	if out.StatusCode != 200 || out.Headers["X-Before"] != "yes" || out.Headers["X-After"] != "" {
		t.Errorf("got head %d %v, want what was set before the flush", out.StatusCode, out.Headers)
	}
	close(finish)
	if rest, err := io.ReadAll(out.Body); err != nil || len(rest) != 0 {
		t.Errorf("got %q, %v, want an empty body", rest, err)
	}
}

func TestTheReplyEndsOnlyAfterTheHandlerReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		final := false
		out := invoke(t, context.Background(), event.Options{}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "answer")
			<-time.After(time.Second) // the final is being written
			final = true
		})
		if _, err := io.ReadAll(out.Body); err != nil || !final {
			t.Errorf("the reply ended before the final was written (error %v)", err)
		}
	})
}

func TestAStatusIsAlwaysSet(t *testing.T) {
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		status  int
		body    string
	}{
		"nothing written":  {func(http.ResponseWriter, *http.Request) {}, 200, ""},
		"only a body":      {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "b") }, 200, "b"},
		"a status":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(405) }, 405, ""},
		"early hints":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(404) }, 404, ""},
		"a second status":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202); w.WriteHeader(404) }, 202, ""},
		"an unusable one":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(0) }, 500, "the relay failed\n"},
		"one out of range": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(1000) }, 500, "the relay failed\n"},
		"no content with a body": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(204)
			if _, err := w.Write([]byte("b")); !errors.Is(err, http.ErrBodyNotAllowed) {
				panic("a body was taken for a status that has none")
			}
		}, 204, ""},
	} {
		t.Run(name, func(t *testing.T) {
			out := invoke(t, context.Background(), event.Options{}, test.handler)
			body, err := io.ReadAll(out.Body)
			if err != nil || out.StatusCode != test.status || string(body) != test.body {
				t.Errorf("got %d %q, %v, want %d %q", out.StatusCode, body, err, test.status, test.body)
			}
		})
	}
}

func TestThePreludeCarriesStatusAndHeaders(t *testing.T) {
	out := invoke(t, context.Background(), event.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", "POST")
		w.Header()["Www-Authenticate"] = []string{"Bearer", "Basic"}
		w.Header().Set("Content-Length", "99")
		w.Header().Set("Connection", "close")
		w.WriteHeader(405)
	})
	wire, err := io.ReadAll(out)
	want := `{"statusCode":405,"headers":{"Allow":"POST"},"multiValueHeaders":{"Www-Authenticate":["Bearer","Basic"]}}` + strings.Repeat("\x00", 8)
	if err != nil || string(wire) != want {
		t.Errorf("got %q, %v, want %q", wire, err, want)
	}
}

func TestAHeadThatCannotBeSentBecomesAConstant(t *testing.T) {
	for name, header := range map[string]http.Header{
		"a line break":       {"X-Any": {"a\r\nSet-Cookie: b"}},
		"NUL":                {"X-Any": {"a\x00"}},
		"a byte over ASCII":  {"X-Any": {"r\u00e9"}},
		"a colon in a name":  {"X-Any:": {"a"}},
		"an empty name":      {"": {"a"}},
		"the second value":   {"X-Any": {"a", "b\n"}},
		"a name with breaks": {"X\r\nAny": {"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			out := invoke(t, context.Background(), event.Options{}, func(w http.ResponseWriter, _ *http.Request) {
				for name, values := range header {
					w.Header()[name] = values
				}
				if _, err := io.WriteString(w, "upstream bytes"); err == nil {
					t.Error("the body of a failed head was taken")
				}
			})
			body, err := io.ReadAll(out.Body)
			if err != nil || out.StatusCode != 500 || string(body) != "the relay failed\n" || len(out.Headers) != 1 {
				t.Errorf("got %d %v %q, %v, want the constant reply", out.StatusCode, out.Headers, body, err)
			}
		})
	}
}

func TestAPanicNeverLeaks(t *testing.T) {
	const secret = "hunter2-hunter2"
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		status  int
		body    string
		aborted bool
		logged  string
	}{
		"before the head":     {func(http.ResponseWriter, *http.Request) { panic(secret) }, 500, "the relay failed\n", false, "type=string"},
		"with an error":       {func(http.ResponseWriter, *http.Request) { panic(errors.New(secret)) }, 500, "the relay failed\n", false, "type=*errors.errorString"},
		"after the head":      {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "half"); panic(secret) }, 200, "half", true, "type=string"},
		"a deliberate abort":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200); panic(http.ErrAbortHandler) }, 200, "", true, ""},
		"the goroutine exits": {func(http.ResponseWriter, *http.Request) { runtime.Goexit() }, 500, "the relay failed\n", false, "type=<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			out := invoke(t, context.Background(), event.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, test.handler)
			body, err := io.ReadAll(out.Body)
			if out.StatusCode != test.status || string(body) != test.body || (err != nil) != test.aborted {
				t.Errorf("got %d %q, %v, want %d %q, aborted %t", out.StatusCode, body, err, test.status, test.body, test.aborted)
			}
			if closed := out.Close(); closed != nil {
				t.Errorf("closing: %v", closed)
			}
			if err != nil && err.Error() != "the relay failed" {
				t.Errorf("the stream ended with %q", err)
			}
			if strings.Contains(log.String(), secret) || !strings.Contains(log.String(), test.logged) || (test.logged == "") != (log.Len() == 0) {
				t.Errorf("got log %q, want %q and no value", log.String(), test.logged)
			}
		})
	}
}

func TestClosingEarlyCancelsAndWaitsForTheFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		final := false
		out := invoke(t, context.Background(), event.Options{}, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "begun")
			<-r.Context().Done()
			if _, err := io.WriteString(w, "more"); err == nil {
				t.Error("a closed reply took more bytes")
			}
			<-time.After(2 * time.Second) // the final is being written
			final = errors.Is(r.Context().Err(), context.Canceled)
		})
		if _, err := io.ReadFull(out.Body, make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil || !final {
			t.Errorf("got %v, final %t, want a final before Close returned", err, final)
		}
	})
}

func TestClosingWaitsNoLongerThanItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		out := invoke(t, context.Background(), event.Options{}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(200)
			<-release
		})
		start := time.Now()
		err := out.Close()
		if waited := time.Since(start); err == nil || waited != event.CloseWait {
			t.Errorf("got %v after %v, want an error after %v", err, waited, event.CloseWait)
		}
		close(release)
	})
}

func TestAHandlerBlockedInAWriteIsFreedByClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written error
		out := invoke(t, context.Background(), event.Options{}, func(w http.ResponseWriter, _ *http.Request) {
			_, written = io.WriteString(w, strings.Repeat("x", 1<<20))
		})
		synctest.Wait()
		if err := out.Close(); err != nil || written == nil {
			t.Errorf("got close %v, write %v, want a failed write", err, written)
		}
	})
}

func TestTheFunctionsDeadlineLessTheReservePassesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		out := invoke(t, ctx, event.Options{}, func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			if got, want := time.Since(start), 10*time.Second-event.Reserve; got != want || !errors.Is(r.Context().Err(), context.DeadlineExceeded) {
				t.Errorf("the request ended after %v with %v, want %v", got, r.Context().Err(), want)
			}
		})
		if _, err := io.ReadAll(out.Body); err != nil || ctx.Err() != nil {
			t.Errorf("got %v, function context %v, want an answer within the function's time", err, ctx.Err())
		}
	})
}

func TestWithoutADeadlineThereIsNone(t *testing.T) {
	out := invoke(t, context.Background(), event.Options{}, func(_ http.ResponseWriter, r *http.Request) {
		if end, ok := r.Context().Deadline(); ok {
			t.Errorf("got a deadline %v out of nothing", end)
		}
	})
	if _, err := io.ReadAll(out.Body); err != nil {
		t.Error(err)
	}
}

func TestRefusalsGoToTheOwnRenderer(t *testing.T) {
	var got *call.Refusal
	o := event.Options{Refuse: func(w http.ResponseWriter, r *http.Request, refusal *call.Refusal) {
		got = refusal
		w.WriteHeader(refusal.Row().Status)
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path)
	}}
	e := post("/v1/mcp", "{}", map[string][]string{"Authorization": {"a", "b"}})
	out, _ := event.Handler(http.NotFoundHandler(), o)(context.Background(), e)
	body, err := io.ReadAll(out.Body)
	if err != nil || got == nil || got.Reason != call.BadRequest || out.StatusCode != 400 || string(body) != "POST /v1/mcp" {
		t.Errorf("got %v, %d %q, %v, want bad_request by the own renderer", got, out.StatusCode, body, err)
	}
}

func TestManyInvocationsLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails when a goroutine outlives it
		for i := range 300 {
			out := invoke(t, context.Background(), event.Options{}, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, "first")
				if i%3 == 0 {
					<-r.Context().Done()
				}
				_, _ = io.WriteString(w, "second")
				if i%3 == 1 {
					panic(i)
				}
			})
			if i%3 != 0 {
				_, _ = io.ReadAll(out.Body)
			}
			if err := out.Close(); err != nil {
				t.Fatalf("invocation %d: %v", i, err)
			}
		}
	})
}

func TestWhatRunsInTheBackgroundIsWaitedForAfterTheReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, test := range map[string]struct {
			left, want time.Duration
		}{
			"as long as it may take":               {time.Minute, event.RestWait},
			"until the invocation ends, if sooner": {3 * time.Second, 3*time.Second - event.Reserve},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), test.left)
			rested := false
			o := event.Options{Rest: func(ctx context.Context) {
				<-ctx.Done()
				rested = true
			}}
			out := invoke(t, ctx, o, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "whole") })
			body, err := io.ReadAll(out.Body)
			if err != nil || string(body) != "whole" || rested {
				t.Errorf("%s: %q, %v, rested %v before the reply's end", name, body, err, rested)
			}
			began := time.Now()
			if err := out.Body.(io.Closer).Close(); err != nil || !rested || time.Since(began) != test.want {
				t.Errorf("%s: %v, rested %v after %v, want %v", name, err, rested, time.Since(began), test.want)
			}
			cancel()
		}
	})
}
