package relay_test

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/test/kit"
)

// held makes the upstream keep its calls until release is called, and counts
// those that are there.
func held(f *kit.Relay) (there *atomic.Int64, most *atomic.Int64, arrived chan struct{}, release func()) {
	there, most, arrived = new(atomic.Int64), new(atomic.Int64), make(chan struct{}, 64)
	gate := make(chan struct{})
	f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		now := there.Add(1)
		defer there.Add(-1)
		for {
			high := most.Load()
			if now <= high || most.CompareAndSwap(high, now) {
				break
			}
		}
		arrived <- struct{}{}
		<-gate
		kit.Result(w, body, `{"resultType":"complete","content":[]}`)
	}
	return there, most, arrived, sync.OnceFunc(func() { close(gate) })
}

func TestNoMoreCallsAreAtAServerThanItsBound(t *testing.T) {
	f := kit.New(t, `,"max_in_flight":3`, "")
	_, most, arrived, release := held(f)
	defer release()
	var calls sync.WaitGroup
	refused := new(atomic.Int64)
	for range 12 {
		calls.Go(func() {
			if _, refusal := f.Do(context.Background(), kit.Call("look")); refusal != nil {
				refused.Add(1)
			}
		})
	}
	for range 3 {
		<-arrived
	}
	release()
	calls.Wait()
	if most.Load() != 3 || refused.Load() != 0 || f.Posts.Load() != 12 {
		t.Errorf("at most %d at once, %d refused, %d posts; want 3, 0, 12", most.Load(), refused.Load(), f.Posts.Load())
	}
}

func TestACallThatFindsNoPlaceIsRefusedAndLeavesNoIntent(t *testing.T) {
	f := kit.New(t, `,"max_in_flight":1,"startup_timeout_ms":50`, "")
	_, _, arrived, release := held(f)
	defer release()
	var first sync.WaitGroup
	first.Go(func() { _, _ = f.Do(context.Background(), kit.Call("look")) })
	<-arrived
	_, refusal := f.Do(t.Context(), kit.Call("change"))
	kit.WantReason(t, refusal, call.TooManyInFlight)
	if refusal.RetryAfter != 1 {
		t.Errorf("retry after %d, want 1", refusal.RetryAfter)
	}
	release()
	first.Wait()
	if intents, finals := f.Recorder.Written(); intents != 0 || finals != 2 || f.Posts.Load() != 1 {
		t.Errorf("%d intents, %d finals, %d posts; want 0, 2, 1", intents, finals, f.Posts.Load())
	}
}

func TestACallerWhoLeavesWhileWaitingGivesItsPlaceUp(t *testing.T) {
	f := kit.New(t, `,"max_in_flight":1`, "")
	_, _, arrived, release := held(f)
	defer release()
	var first sync.WaitGroup
	first.Go(func() { _, _ = f.Do(context.Background(), kit.Call("look")) })
	<-arrived
	gone, leave := context.WithCancel(t.Context())
	leave()
	_, refusal := f.Do(gone, kit.Call("look"))
	kit.WantReason(t, refusal, call.Cancelled)
	if refusal.MayHaveRun() != call.ImpactNone {
		t.Errorf("effect %s, want none", refusal.MayHaveRun())
	}
	release()
	first.Wait()
	if _, refusal := f.Do(t.Context(), kit.Call("look")); refusal != nil {
		t.Errorf("the next call: %v", refusal)
	}
}

func TestAnAcquisitionThatACallWaitsForNeedsNoPlaceOfItsOwn(t *testing.T) {
	f := kit.New(t, `,"max_in_flight":1`, "")
	done := make(chan *call.Refusal, 1)
	go func() { _, refusal := f.Do(context.Background(), kit.Call("look")); done <- refusal }()
	select {
	case refusal := <-done:
		if refusal != nil || len(f.Recorder.Own()) != 1 {
			t.Errorf("got %v and %d acquisitions", refusal, len(f.Recorder.Own()))
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the call waits for itself")
	}
}
