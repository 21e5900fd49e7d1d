package event

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"mcprelay/shared/call"
)

var (
	// errAborted ends a stream whose handler failed; the runtime library sends
	// its text to API Gateway.
	errAborted = errors.New("the relay failed")
	errClosed  = errors.New("the reply was closed before it ended")
	errRunning = errors.New("the handler did not return after the reply was closed")
)

// stream is one invocation: the handler's [http.ResponseWriter] on one side,
// the body of the response on the other. The body owns the handler's
// goroutine: it ends only after the goroutine has, or was told to and waited for.
type stream struct {
	options Options
	cancel  context.CancelFunc
	ends    time.Time // of the invocation; the zero Time for never

	header http.Header // the handler's
	reader *io.PipeReader
	writer *io.PipeWriter

	once      sync.Once // commits
	committed chan struct{}
	status    int         // set before committed is closed
	sent      http.Header // the same
	failed    bool        // the same: the constant reply was committed
	done      chan struct{}
}

func newStream(cancel context.CancelFunc, o Options) *stream {
	s := &stream{options: o, cancel: cancel, header: http.Header{}, committed: make(chan struct{}), done: make(chan struct{})}
	s.reader, s.writer = io.Pipe()
	return s
}

// serve runs the handler and ends the stream after it. A handler that panics,
// or leaves by [runtime.Goexit], ends it with a constant.
func (s *stream) serve(h http.Handler, r *http.Request) {
	returned := false
	defer close(s.done)
	defer func() {
		value := recover()
		if !returned {
			s.report(value)
			s.once.Do(s.fail)
		}
		s.end(returned)
	}()
	h.ServeHTTP(s, r)
	s.WriteHeader(http.StatusOK)
	returned = true
}

// report logs a panic by its type and stack; its value may hold anything.
func (s *stream) report(value any) {
	if value != http.ErrAbortHandler {
		s.options.Log.Error("a handler panicked", "type", fmt.Sprintf("%T", value), "stack", string(debug.Stack()))
	}
}

// fail commits the constant reply of a handler that failed.
func (s *stream) fail() {
	s.failed, s.status = true, call.Internal.Row().Status
	s.sent = http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	close(s.committed)
}

// end lets the reader see the end: a clean one, or an aborted stream where the
// handler failed after its head was sent.
func (s *stream) end(returned bool) {
	switch {
	case s.failed:
		_, _ = io.WriteString(s.writer, call.Internal.Row().Sentence+"\n")
		_ = s.writer.Close()
	case returned:
		_ = s.writer.Close()
	default:
		_ = s.writer.CloseWithError(errAborted)
	}
}

// response waits for the reply's head.
func (s *stream) response() *events.APIGatewayProxyStreamingResponse {
	<-s.committed
	reply := &events.APIGatewayProxyStreamingResponse{StatusCode: s.status, Headers: map[string]string{}, Body: (*body)(s)}
	for name, values := range s.sent {
		if len(values) == 1 {
			reply.Headers[name] = values[0]
			continue
		}
		if reply.MultiValueHeaders == nil {
			reply.MultiValueHeaders = map[string][]string{}
		}
		reply.MultiValueHeaders[name] = values
	}
	return reply
}

// body is the reading side of a stream.
type body stream

// Read gives what the handler has written. It is [io.EOF] only after the
// handler returned.
func (b *body) Read(p []byte) (int, error) { return b.reader.Read(p) }

// Close cancels the request and waits, bounded, until the handler returned and
// what it began has ended.
func (b *body) Close() error {
	b.cancel()
	_ = b.reader.CloseWithError(errClosed)
	timer := time.NewTimer(b.options.CloseWait)
	defer timer.Stop()
	select {
	case <-b.done:
		b.rest()
		return nil
	case <-timer.C:
		return errRunning
	}
}

// rest gives what runs in the background the time that is left.
func (b *body) rest() {
	ends := time.Now().Add(RestWait)
	if !b.ends.IsZero() && b.ends.Before(ends) {
		ends = b.ends
	}
	ctx, cancel := context.WithDeadline(context.Background(), ends)
	defer cancel()
	b.options.Rest(ctx)
}

// Header is the head as the handler sets it up.
func (s *stream) Header() http.Header { return s.header }

// WriteHeader commits the head, once. Informational statuses are not passed.
func (s *stream) WriteHeader(status int) {
	if status < 200 && status >= 100 {
		return
	}
	s.once.Do(func() {
		s.sent = s.header.Clone()
		for _, name := range framing() {
			s.sent.Del(name)
		}
		if status < 200 || status > 599 || !sendable(s.sent) {
			s.options.Log.Error("a handler's head cannot be sent", "status", status)
			s.fail()
			return
		}
		s.status = status
		close(s.committed)
	})
}

// Write commits the head and hands p to the reader of the reply, waiting until
// it was taken.
func (s *stream) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	if s.failed {
		return 0, errAborted
	}
	if s.status == http.StatusNoContent || s.status == http.StatusNotModified {
		return 0, http.ErrBodyNotAllowed
	}
	return s.writer.Write(p)
}

// Flush commits the head; what was written is already with the reader.
func (s *stream) Flush() { s.WriteHeader(http.StatusOK) }
