package front_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/front"
	"mcprelay/shared/wire"
)

const (
	bothTypes = "application/json, text/event-stream"
	progress  = "notifications/progress"
	done      = `{"jsonrpc":"2.0","id":1,"result":{}}`
	doneEvent = "event: message\ndata: " + done + "\n\n"
)

// surface is a response writer whose reader the test plays.
type surface struct {
	*httptest.ResponseRecorder
	took   func() error // of each write; nil takes all
	mu     sync.Mutex   // of writes, for a look in between
	writes []time.Time  // when each began
	limits []time.Time  // write deadlines
}

func (s *surface) Write(p []byte) (int, error) {
	s.mu.Lock()
	s.writes = append(s.writes, time.Now())
	s.mu.Unlock()
	if s.took != nil {
		if err := s.took(); err != nil {
			return 0, err
		}
	}
	return s.ResponseRecorder.Write(p)
}

func (s *surface) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.writes)
}

func (s *surface) SetWriteDeadline(at time.Time) error {
	s.limits = append(s.limits, at)
	return nil
}

// replying opens a reply to an agent with this Accept; empty for none.
func replying(ctx context.Context, accept string) (*surface, front.Reply, context.Context) {
	r := httptest.NewRequest("POST", mcpPath, http.NoBody).WithContext(ctx)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	s := &surface{ResponseRecorder: httptest.NewRecorder()}
	p, inner := front.NewReply(s, r)
	return s, p, inner
}

func event(text string) string { return "event: message\ndata: " + text + "\n\n" }

func TestAnAnswerByItselfIsJSONForEveryAgent(t *testing.T) {
	for _, accept := range []string{"", "*/*", "application/json", "text/event-stream", bothTypes, "text/event-stream;q=0"} {
		s, p, _ := replying(t.Context(), accept)
		p.Answer(404, []byte(`{"jsonrpc":"2.0",`), nil, []byte(`"id":1,"result":{}}`))
		p.Close()
		if s.Code != 404 || s.Body.String() != done || s.Header().Get("Content-Type") != "application/json" || s.Header().Get("Content-Length") != "36" {
			t.Errorf("Accept %q: got %d %v %s", accept, s.Code, s.Header(), s.Body)
		}
	}
}

func TestANotificationBeginsAStreamForThoseWhoTakeOne(t *testing.T) {
	for accept, streams := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "text/event-stream;q=0": false,
		"text/event-stream": true, bothTypes: true,
	} {
		s, p, _ := replying(t.Context(), accept)
		p.Notify(progress, json.RawMessage(`{"progressToken":1.0, "progress":9007199254740993}`))
		p.Notify("notifications/message", nil)
		p.Answer(404, []byte(done))
		p.Close()
		status, kind, body := 404, "application/json", done
		if streams {
			status, kind = 200, "text/event-stream"
			body = event(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1.0, "progress":9007199254740993}}`) +
				event(`{"jsonrpc":"2.0","method":"notifications/message"}`) + doneEvent
		}
		buffering := s.Header().Get("X-Accel-Buffering")
		if s.Code != status || s.Header().Get("Content-Type") != kind || s.Body.String() != body || (buffering == "no") != streams {
			t.Errorf("Accept %q: got %d %v %s, want %d %s", accept, s.Code, s.Header(), s.Body, status, body)
		}
	}
}

func TestParamsWithLineBreaksStayOneEvent(t *testing.T) {
	s, p, _ := replying(t.Context(), bothTypes)
	params := "{\n \"text\": \"a\\nb<&>\",\r\n \"n\": 1e2 }"
	p.Notify(progress, json.RawMessage(params))
	p.Answer(200, []byte(done))
	p.Close()
	events := wire.NewEventReader(s.Body, wire.EventLimits{Bytes: 1 << 20, Events: 10})
	got, err := events.Next()
	want := `{"jsonrpc":"2.0","method":"notifications/progress","params":` + strings.ReplaceAll(params, "\r\n", "\n") + "}"
	if err != nil || string(got.Data) != want {
		t.Errorf("got %q, %v, want %q", got.Data, err, want)
	}
}

func TestSilenceIsFilledWithComments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p, _ := replying(t.Context(), bothTypes)
		start := time.Now()
		time.Sleep(front.SilenceBefore - time.Nanosecond)
		synctest.Wait()
		if n := s.count(); n != 0 {
			t.Fatalf("%d writes within the first silence", n)
		}
		time.Sleep(2*front.SilenceBefore + time.Nanosecond) // three comments
		time.Sleep(time.Second)
		p.Notify(progress, json.RawMessage(`{}`))
		time.Sleep(front.SilenceBefore) // one more
		synctest.Wait()
		p.Answer(404, []byte(done))
		p.Close()
		want := ":\n\n:\n\n:\n\n" + event(`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`) + ":\n\n" + doneEvent
		if s.Code != 200 || s.Header().Get("Content-Type") != "text/event-stream" || s.Body.String() != want {
			t.Errorf("got %d %v %q, want %q", s.Code, s.Header(), s.Body, want)
		}
		for i, second := range []int{5, 10, 15, 16, 21, 21} {
			if got := s.writes[i].Sub(start); got != time.Duration(second)*time.Second {
				t.Errorf("write %d came after %v, want %d s", i, got, second)
			}
			if got := s.limits[i].Sub(s.writes[i]); got != front.ReplyBudget {
				t.Errorf("write %d has %v, want %v", i, got, front.ReplyBudget)
			}
		}
	})
}

func TestAnAgentWithoutStreamsWaitsInSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p, _ := replying(t.Context(), "*/*")
		time.Sleep(10 * front.SilenceBefore)
		p.Notify(progress, nil)
		synctest.Wait()
		if len(s.writes) != 0 {
			t.Errorf("%q was written before the answer", s.Body)
		}
		p.Answer(200, []byte(done))
		p.Close()
		if s.Body.String() != done {
			t.Errorf("got %q", s.Body)
		}
	})
}

func TestARefusalTakesTheFormOfItsReply(t *testing.T) {
	busy := &call.Refusal{Reason: call.Unauthenticated, RetryAfter: 7}
	for _, begun := range []bool{false, true} {
		s, p, _ := replying(t.Context(), bothTypes)
		if begun {
			p.Notify(progress, nil)
		}
		p.Refuse(call.Call{ID: "one"}, wire.ID{}, 401, busy)
		p.Close()
		status, kind, retry := 401, "application/json", "7"
		if begun {
			status, kind, retry = 200, "text/event-stream", ""
		}
		header := s.Result().Header
		if s.Code != status || header.Get("Content-Type") != kind || header.Get("Retry-After") != retry || (header.Get("WWW-Authenticate") == "") != begun {
			t.Errorf("begun %t: got %d %v", begun, s.Code, header)
		}
		body := s.Body.String()
		if begun {
			body = body[strings.LastIndex(body, "data: ")+len("data: "):]
		}
		var reply struct {
			Error struct{ Data struct{ Reason string } }
		}
		if err := json.Unmarshal([]byte(body), &reply); err != nil || reply.Error.Data.Reason != string(call.Unauthenticated) {
			t.Errorf("begun %t: got %q, %v, want the refusal", begun, body, err)
		}
	}
}

func TestAFailedWriteIsTheLastAndEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p, ctx := replying(t.Context(), bothTypes)
		var gone atomic.Bool
		s.took = func() error {
			if gone.Load() {
				return errors.New("gone")
			}
			return nil
		}
		p.Notify(progress, nil)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Error("the call has ended although the agent reads")
		}
		gone.Store(true)
		p.Notify(progress, nil)
		synctest.Wait()
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("the context is %v, want it cancelled", ctx.Err())
		}
		p.Notify(progress, nil)
		time.Sleep(3 * front.SilenceBefore)
		p.Answer(200, []byte(done))
		p.Close()
		if len(s.writes) != 2 {
			t.Errorf("%d writes, want none after the one that failed", len(s.writes))
		}
	})
}

func TestASlowAgentHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p, ctx := replying(t.Context(), bothTypes)
		reads := make(chan struct{})
		s.took = func() error { <-reads; return nil }
		part := json.RawMessage(`"` + strings.Repeat("x", 100<<10) + `"`)
		for range 30 {
			p.Notify(progress, part) // returns, though nothing is read
			synctest.Wait()
		}
		if ctx.Err() != nil {
			t.Error("the call has ended")
		}
		close(reads)
		p.Answer(200, []byte(done))
		p.Close()
		// One is being written, and as many wait as the bound allows.
		if got, want := strings.Count(s.Body.String(), progress), 1+front.MaxPending/(100<<10); got != want {
			t.Errorf("%d notifications arrived, want %d", got, want)
		}
		if !strings.HasSuffix(s.Body.String(), doneEvent) {
			t.Error("the answer is not the last event")
		}
	})
}

func TestNothingFollowsTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails when a goroutine outlives it
		for _, begun := range []bool{false, true} {
			s, p, ctx := replying(t.Context(), bothTypes)
			if begun {
				p.Notify(progress, nil)
			}
			p.Answer(200, []byte(done))
			size := s.Body.Len()
			p.Notify(progress, nil)
			time.Sleep(3 * front.SilenceBefore)
			p.Close()
			p.Close()
			if s.Body.Len() != size || ctx.Err() == nil {
				t.Errorf("begun %t: got %q, context %v", begun, s.Body, ctx.Err())
			}
		}
	})
}

func TestAReplyThatWasNeverAnsweredWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p, ctx := replying(t.Context(), bothTypes)
		p.Close()
		time.Sleep(3 * front.SilenceBefore)
		if len(s.writes) != 0 || ctx.Err() == nil {
			t.Errorf("got %q, context %v", s.Body, ctx.Err())
		}
	})
}

func TestNotificationsOfManyGoroutinesStayWholeAndInOrder(t *testing.T) {
	s, p, _ := replying(t.Context(), bothTypes)
	var senders sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		senders.Go(func() {
			for n := range 100 {
				params, _ := json.Marshal(map[string]int{name: n})
				p.Notify(progress, params)
			}
		})
	}
	senders.Wait()
	p.Answer(200, []byte(done))
	p.Close()
	next := map[string]int{}
	events := wire.NewEventReader(s.Body, wire.EventLimits{Bytes: 1 << 20, Events: 1000})
	for {
		got, err := events.Next()
		if err == io.EOF {
			break
		}
		var m struct{ Params map[string]int }
		if err != nil || json.Unmarshal(got.Data, &m) != nil {
			t.Fatalf("got %q, %v", got.Data, err)
		}
		for name, n := range m.Params {
			if n != next[name] {
				t.Fatalf("%s %d came in the place of %d", name, n, next[name])
			}
			next[name]++
		}
	}
	for name, n := range next {
		if n != 100 {
			t.Errorf("%d of %s arrived, want 100", n, name)
		}
	}
	if len(next) != 4 {
		t.Errorf("got %v", next)
	}
}
