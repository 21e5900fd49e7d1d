package runtimeapi_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/wire"
	"mcprelay/test/runtimeapi"
)

// The events of a call that reports progress, as its agent gets them: with the
// agent's own token and id, numbers as they are written.
const (
	halfway = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7.0,"progress":0.5,"message":"half"}}`
	worked  = `"content":[{"type":"text","text":"worked"}]`
)

// reporting is the event of a call of the slow server by an agent that wants
// to hear of its progress.
func reporting(t *testing.T) []byte {
	t.Helper()
	e, _ := load(t, "mcp-answered-2026")
	e.Path = "/v1/servers/slow/mcp"
	e.Headers["Mcp-Name"], e.MultiValueHeaders["Mcp-Name"] = "work", []string{"work"}
	e.Body = strings.NewReplacer("test_simple_text", "work", `"_meta":{`, `"_meta":{"progressToken":7.0,`).Replace(e.Body)
	return encode(t, e)
}

// readEvents reads the events of a reply.
func readEvents(r io.Reader) *wire.EventReader {
	return wire.NewEventReader(r, wire.EventLimits{Bytes: 1 << 20, Events: 100})
}

// wantProgress reads the next event, which must be the progress.
func wantProgress(t *testing.T, events *wire.EventReader) {
	t.Helper()
	got, err := events.Next()
	if err != nil || string(got.Data) != halfway {
		t.Fatalf("got %q, %v, want %s", got.Data, err, halfway)
	}
}

// wantWorked reads the last event, which must be the answer.
func wantWorked(t *testing.T, events *wire.EventReader) {
	t.Helper()
	got, err := events.Next()
	if text := string(got.Data); err != nil || !strings.HasPrefix(text, `{"jsonrpc":"2.0","id":7,"result":`) || !strings.Contains(text, worked) {
		t.Errorf("got %q, %v, want the answer", text, err)
	}
	if more, err := events.Next(); err != io.EOF {
		t.Errorf("got %q, %v after the answer, want the end", more.Data, err)
	}
}

// progressStreams lets the upstream answer only once its progress was read.
func progressStreams(t *testing.T, w *world) {
	s := w.start(t, runtimeapi.Options{})
	before := w.records(t)
	start := time.Now()
	reply, err := s.Invoke(t.Context(), reporting(t))
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if reply.Status != 200 || reply.Header.Get("Content-Type") != "text/event-stream" || reply.Header.Get("X-Accel-Buffering") != "no" {
		t.Fatalf("got %d %v, want an event stream", reply.Status, reply.Header)
	}
	first := make([]byte, 1)
	if _, err := io.ReadFull(reply.Body, first); err != nil {
		t.Fatal(err)
	}
	firstByte := time.Since(start)
	events := readEvents(io.MultiReader(bytes.NewReader(first), reply.Body))
	wantProgress(t, events)
	if got := since(before, w.records(t)); len(got) != 1 || got[0] != "intent  " {
		t.Errorf("the trail has gained %q while the call runs, want one intent", got)
	}
	w.slow.release(t)
	wantWorked(t, events)
	t.Logf("the first byte came after %v, of a process that had to start; the upstream answered after %v", firstByte, time.Since(start))
	if got := since(before, w.records(t)); len(got) != 1 || got[0] != "final answered ok" {
		t.Errorf("the trail has gained %q, want one answer", got)
	}
}

// readerLeaves goes away after the first event. The platform breaks the
// connection, the process ends the call and leaves its final. The runtime
// library sees a broken connection when it writes: the server reports more
// progress here, a silent one would be given the relay's own comments.
func readerLeaves(t *testing.T, w *world) {
	s := w.start(t, runtimeapi.Options{Sever: true})
	before := w.records(t)
	w.slow.forget()
	reply, err := s.Invoke(t.Context(), reporting(t))
	if err != nil {
		t.Fatal(err)
	}
	wantProgress(t, readEvents(reply.Body))
	left := time.Now()
	reply.Body.Close()
	t.Logf("the call upstream was cancelled %v after its reader had left", w.slow.reportUntilGone(t).Sub(left))
	w.wantTrail(t, before, "final no_answer cancelled")
}

// wholeStream is what a platform that buffers makes of the reply.
func wholeStream(t *testing.T, w *world, invoke func([]byte) []byte) {
	t.Helper()
	released := make(chan struct{})
	go func() { defer close(released); w.slow.release(t) }()
	head, payload, _ := bytes.Cut(invoke(reporting(t)), make([]byte, 8))
	<-released
	if !bytes.Contains(head, []byte(`"text/event-stream"`)) {
		t.Errorf("got the head %s, want an event stream", head)
	}
	events := readEvents(bytes.NewReader(payload))
	wantProgress(t, events)
	wantWorked(t, events)
}

// wantTrail waits until the trail has gained these records.
func (w *world) wantTrail(t *testing.T, before []audit.Record, want ...string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; <-time.After(50 * time.Millisecond) { // until another process has written
		got := since(before, w.records(t))
		if slices.Equal(got, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the trail has gained %q, want %q", got, want)
		}
	}
}
