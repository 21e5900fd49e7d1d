package wire

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// EventWriter writes an event stream. Each event is one Write and, where the
// writer is an http.ResponseWriter, one flush.
type EventWriter struct {
	w     io.Writer
	flush func() error
	buf   []byte
}

// NewEventWriter writes events to w.
func NewEventWriter(w io.Writer) *EventWriter {
	e := &EventWriter{w: w, flush: func() error { return nil }}
	if response, ok := w.(http.ResponseWriter); ok {
		e.flush = http.NewResponseController(response).Flush
	}
	return e
}

// Message writes one message event. A line break inside the JSON can only be a
// blank between its tokens; each line becomes a data field of its own, so CR
// and CRLF reach the reader as LF and every other byte as it is. The error is
// the writer's.
func (e *EventWriter) Message(json []byte) error {
	e.buf = append(e.buf[:0], "event: message\n"...)
	for {
		end := lineEnd(json)
		if end < 0 {
			break
		}
		e.data(json[:end])
		rest := json[end+1:]
		if json[end] == '\r' {
			rest = bytes.TrimPrefix(rest, []byte("\n"))
		}
		json = rest
	}
	e.data(json)
	e.buf = append(e.buf, '\n')
	return e.write()
}

// Comment writes a comment, which readers ignore: it keeps the path alive and
// notices a reader that is gone.
func (e *EventWriter) Comment() error {
	e.buf = append(e.buf[:0], ":\n\n"...)
	return e.write()
}

// data adds one data field.
func (e *EventWriter) data(line []byte) {
	e.buf = append(e.buf, "data: "...)
	e.buf = append(e.buf, line...)
	e.buf = append(e.buf, '\n')
}

// write sends what was built.
func (e *EventWriter) write() error {
	if _, err := e.w.Write(e.buf); err != nil {
		return err
	}
	if err := e.flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
