package event_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcprelay/shared/event"
	"mcprelay/shared/wire"
)

const step = "event: message\ndata: {\"method\":\"notifications/progress\"}\n\n"

// reporting writes an event stream: an event, then one more each second, and
// the answer as the fourth. The time at which its request was cancelled is
// sent to cancelled.
func reporting(cancelled chan<- time.Time) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		events := wire.NewEventWriter(w)
		for range 3 {
			_ = events.Message([]byte(`{"method":"notifications/progress"}`)) // a gone reader ends the request
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
				cancelled <- time.Now()
				return
			}
		}
		_ = events.Message([]byte(`{"result":{}}`))
	}
}

func TestAReaderThatBuffersGetsTheWholeEventStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := invoke(t, context.Background(), event.Options{}, reporting(nil))
		all, err := io.ReadAll(out)
		head, body, _ := strings.Cut(string(all), strings.Repeat("\x00", 8))
		want := strings.Repeat(step, 3) + "event: message\ndata: {\"result\":{}}\n\n"
		if err != nil || body != want || !strings.Contains(head, `"Content-Type":"text/event-stream"`) {
			t.Errorf("got %s and %q, %v, want %q", head, body, err, want)
		}
		if err := out.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestEachEventIsReadAsItIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := invoke(t, context.Background(), event.Options{}, reporting(nil))
		start := time.Now()
		for second := range 3 {
			text := make([]byte, len(step))
			if _, err := io.ReadFull(out.Body, text); err != nil || string(text) != step {
				t.Fatalf("got %q, %v, want an event", text, err)
			}
			if took, want := time.Since(start), time.Duration(second)*time.Second; took != want {
				t.Errorf("the event came after %v, want %v", took, want)
			}
		}
		_, _ = io.ReadAll(out.Body) // for its end
	})
}

func TestAReaderThatLeavesEndsASilentCallAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled := make(chan time.Time, 1)
		out := invoke(t, context.Background(), event.Options{}, reporting(cancelled))
		if _, err := io.ReadFull(out.Body, make([]byte, len(step))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second / 2) // the handler waits for its upstream
		left := time.Now()
		if err := out.Close(); err != nil {
			t.Error(err)
		}
		if at := <-cancelled; !at.Equal(left) {
			t.Errorf("the request was cancelled %v after its reader left", at.Sub(left))
		}
	})
}
