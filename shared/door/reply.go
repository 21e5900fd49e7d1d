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
	status  int            // 0 before it is set
	begun   bool           // the head was sent
	length  int64          // declared; -1 where it is not
	written int64          // of the body
	chunks  io.WriteCloser // nil where the length is declared
	body    body
	closing bool // the connection ends with this reply
}

// handle runs the handler; false where it panicked, after which nothing on the
// connection can be trusted.
func (w *reply) handle(h http.Handler, r *http.Request) (ok bool) {
	defer func() { ok = recover() == nil }()
	h.ServeHTTP(w, r)
	return true
}

// Header is what the head will have.
func (w *reply) Header() http.Header { return w.header }

// WriteHeader sets the status, once, as [net/http.ResponseWriter] says. An
// informational one is not sent.
func (w *reply) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
}

// begin sends the head, unless it was sent. What is in the header by then
// counts; otherwise is the length of a body that has none declared, -1 for a
// body that will come in chunks.
func (w *reply) begin(otherwise int64) {
	if w.begun {
		return
	}
	w.begun = true
	w.WriteHeader(http.StatusOK)
	w.frame(otherwise)
	w.closing = w.closing || is([]byte(w.header.Get("Connection")), "close")
	w.writeHead()
	if w.length < 0 {
		w.chunks = httputil.NewChunkedWriter(w.conn.writer)
	}
}

// frame settles how long the body is and has the header say so.
func (w *reply) frame(otherwise int64) {
	declared, err := strconv.ParseInt(w.header.Get("Content-Length"), 10, 64)
	switch {
	case !bodied(w.status):
		w.length = 0
		w.header.Del("Content-Length")
	case err == nil && declared >= 0:
		w.length = declared
	case otherwise < 0:
		w.length = -1
		w.header.Del("Content-Length")
		w.header.Set("Transfer-Encoding", "chunked")
	default:
		w.length = otherwise
		w.header.Set("Content-Length", strconv.FormatInt(otherwise, 10))
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
		head = append(append(append(head, "Date: "...), w.conn.server.dates.now()...), "\r\n"...)
	}
	// A body that was not read is not waited for: the connection ends.
	if w.closing = w.closing || w.body.left > 0 || w.conn.isRetired(); w.closing {
		w.header.Set("Connection", "close")
	}
	_, _ = out.Write(head)
	_ = w.header.Write(out)
	_, _ = out.WriteString("\r\n")
}

// Write sends a part of the body.
func (w *reply) Write(p []byte) (int, error) {
	w.begin(-1)
	if !bodied(w.status) {
		return 0, http.ErrBodyNotAllowed
	}
	if w.chunks != nil {
		if len(p) == 0 {
			return 0, nil // it would be the last chunk
		}
		return w.chunks.Write(p)
	}
	if int64(len(p)) > w.length-w.written {
		return 0, http.ErrContentLength
	}
	w.written += int64(len(p))
	return w.conn.writer.Write(p)
}

// Flush sends what was written so far.
func (w *reply) Flush() { _ = w.FlushError() }

// FlushError is Flush for [net/http.ResponseController].
func (w *reply) FlushError() error {
	w.begin(-1)
	return w.conn.writer.Flush()
}

// SetReadDeadline bounds the reading of the body.
func (w *reply) SetReadDeadline(at time.Time) error { return w.conn.reads.set(at) }

// SetWriteDeadline bounds the writing of the reply.
func (w *reply) SetWriteDeadline(at time.Time) error { return w.conn.writes.set(at) }

// finish sends the rest. An error means that the connection is of no more use.
func (w *reply) finish() error {
	w.begin(0)
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

// dates keeps the Date header of the present second.
type dates struct{ kept atomic.Pointer[date] }

type date struct {
	second int64
	text   string
}

// now is the present second as a Date header has it.
func (d *dates) now() string {
	now := time.Now()
	if kept := d.kept.Load(); kept != nil && kept.second == now.Unix() {
		return kept.text
	}
	made := &date{now.Unix(), now.UTC().Format(http.TimeFormat)}
	d.kept.Store(made)
	return made.text
}
