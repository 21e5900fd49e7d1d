package door

import (
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"strconv"
	"sync/atomic"
	"time"
)

// replyHeaders is about how many headers a reply of the relay has.
const replyHeaders = 6

// errShort is a reply whose handler wrote less than it declared.
var errShort = errors.New("door: the reply is shorter than it said")

// reply is the response writer of the short way.
type reply struct {
	conn    *conn
	header  http.Header
	status  int           // 0 before the head
	length  int64         // declared; -1 where it is not
	written int64         // of the body
	chunks  io.WriteCloser // nil where the length is declared
	closing bool          // the connection ends with this reply
}

// handle runs the handler; false where it panicked, after which nothing on the
// connection can be trusted.
func (w *reply) handle(h http.Handler, r *http.Request) (ok bool) {
	defer func() { ok = recover() == nil }()
	h.ServeHTTP(w, r)
	return
}

// Header is what the head will have.
func (w *reply) Header() http.Header { return w.header }

// WriteHeader sends the head: once, as [net/http.ResponseWriter] says. An
// informational one is not sent.
func (w *reply) WriteHeader(status int) {
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status, w.length = status, -1
	if value := w.header.Get("Content-Length"); value != "" {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= 0 {
			w.length = n
		} else {
			w.header.Del("Content-Length")
		}
	}
	if !bodied(status) {
		w.length = 0
		w.header.Del("Content-Length")
	}
	w.closing = w.closing || is([]byte(w.header.Get("Connection")), "close")
	if w.length < 0 {
		w.header.Set("Transfer-Encoding", "chunked")
	}
	w.writeHead()
	if w.length < 0 {
		w.chunks = httputil.NewChunkedWriter(w.conn.writer)
	}
}

func bodied(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// writeHead fills the buffer; errors stay in it until the flush.
func (w *reply) writeHead() {
	out := w.conn.writer
	head := append(out.AvailableBuffer(), "HTTP/1.1 "...)
	head = strconv.AppendInt(head, int64(w.status), 10)
	head = append(append(append(head, ' '), http.StatusText(w.status)...), "\r\n"...)
	if w.header["Date"] == nil {
		head = append(append(append(head, "Date: "...), date()...), "\r\n"...)
	}
	if w.closing || w.conn.isRetired() {
		w.closing = true
		w.header.Set("Connection", "close")
	}
	_, _ = out.Write(head)
	_ = w.header.Write(out)
	_, _ = out.WriteString("\r\n")
}

// Write sends a part of the body.
func (w *reply) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if !bodied(w.status) {
		return 0, http.ErrBodyNotAllowed
	}
	if w.chunks != nil {
		if len(p) == 0 {
			return 0, nil // it would be the last chunk
		}
		return w.chunks.Write(p)
	}
	if w.written += int64(len(p)); w.written > w.length {
		return 0, http.ErrContentLength
	}
	return w.conn.writer.Write(p)
}

// Flush sends what was written so far.
func (w *reply) Flush() { _ = w.FlushError() }

// FlushError is Flush for [net/http.ResponseController].
func (w *reply) FlushError() error {
	w.WriteHeader(http.StatusOK)
	return w.conn.writer.Flush()
}

// SetReadDeadline bounds the reading of the body.
func (w *reply) SetReadDeadline(at time.Time) error { return w.conn.reads.set(at) }

// SetWriteDeadline bounds the writing of the reply.
func (w *reply) SetWriteDeadline(at time.Time) error { return w.conn.writes.set(at) }

// finish sends the rest. An error means that the connection is of no more use.
func (w *reply) finish() error {
	if w.status == 0 {
		w.header.Set("Content-Length", "0")
		w.WriteHeader(http.StatusOK)
	}
	if w.chunks != nil {
		_ = w.chunks.Close() // its error stays in the buffer
		_, _ = w.conn.writer.WriteString("\r\n")
	}
	if err := w.conn.writer.Flush(); err != nil {
		return err
	}
	if w.chunks == nil && w.written != w.length {
		return errShort
	}
	return nil
}

// clock is the Date header of one second.
type clock struct {
	second int64
	text   string
}

var dates atomic.Pointer[clock]

// date is the present second as a Date header has it.
func date() string {
	now := time.Now()
	if c := dates.Load(); c != nil && c.second == now.Unix() {
		return c.text
	}
	c := &clock{now.Unix(), now.UTC().Format(http.TimeFormat)}
	dates.Store(c)
	return c.text
}
