package wire

import (
	"bytes"
	"errors"
	"io"
)

// The bounds that an event stream broke.
var (
	ErrTooLarge      = errors.New("the event stream is larger than its bound")
	ErrTooManyEvents = errors.New("the event stream has more events than its bound")
)

// eventChunk is what is read at once, in bytes: most replies fit.
const eventChunk = 8 << 10

// EventLimits bounds a stream. A zero bound allows nothing.
type EventLimits struct {
	Bytes  int64 // of the decoded stream: fields, comments and line ends
	Events int   // with or without data; comments alone are no event
}

// Event is one event of a stream. Its data is the caller's.
type Event struct {
	Type string // "message" where the stream names none
	ID   string // the last id that the stream set, here or before
	Data []byte // never empty
	// Partial says that the stream ended without the blank line that
	// completes an event: it counts only if its data is a whole message.
	Partial bool
}

// EventReader reads an event stream (WHATWG HTML, "Server-sent events"). Lines
// end with LF, CRLF or CR; a byte order mark, comments, retry, unknown fields
// and events without data pass silently.
type EventReader struct {
	source io.Reader
	left   int64 // bytes that may still be consumed
	events int   // events that may still be completed
	buf    []byte
	unread []byte // of buf
	line   []byte // begun in an earlier chunk
	ended  error  // how the source ended
	broken error  // the bound that was met

	begun   bool // a first line was read
	afterCR bool // an LF now belongs to the line end before it
	fields  bool // the event has a field
	kind    string
	id      string
	data    []byte
	hasData bool
}

// NewEventReader reads events from r, which gives the decoded body.
func NewEventReader(r io.Reader, l EventLimits) *EventReader {
	return &EventReader{source: r, left: l.Bytes, events: l.Events}
}

// Next reads on to the next event that has data, and no further than that
// event needs. At the end of the stream the error is io.EOF, after a partial
// event where one was begun; it is [ErrTooLarge] or [ErrTooManyEvents] at a
// bound, which does not take back events that came before it, and otherwise
// the source's own. Errors repeat.
func (r *EventReader) Next() (Event, error) {
	for r.broken == nil {
		line, owned, err := r.readLine()
		switch {
		case err == io.EOF:
			return r.last()
		case err != nil:
			return Event{}, err
		case len(line) > 0:
			r.field(line, owned)
			continue
		}
		event, err := r.dispatch()
		if err != nil || event.Data != nil {
			return event, err
		}
	}
	return Event{}, r.broken
}

// last gives the event that the end of the stream cut off, then io.EOF.
func (r *EventReader) last() (Event, error) {
	event, err := r.dispatch()
	if err == nil && event.Data == nil {
		err = io.EOF
	}
	event.Partial = err == nil
	return event, err
}

// dispatch completes an event; one without data has none.
func (r *EventReader) dispatch() (Event, error) {
	if !r.fields {
		return Event{}, nil
	}
	if r.events--; r.events < 0 {
		r.broken = ErrTooManyEvents
		return Event{}, r.broken
	}
	event := Event{Type: r.kind, ID: r.id}
	if event.Type == "" {
		event.Type = "message"
	}
	if len(r.data) > 0 {
		event.Data = r.data
	}
	r.fields, r.kind, r.data, r.hasData = false, "", nil, false
	return event, nil
}

// field reads one line that is not blank. owned says that the line may be
// kept.
func (r *EventReader) field(line []byte, owned bool) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	if len(name) == 0 {
		return // a comment
	}
	r.fields = true
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		switch {
		case r.hasData:
			r.data = append(append(r.data, '\n'), value...)
		case owned:
			r.data = value
		default:
			r.data = bytes.Clone(value)
		}
		r.hasData = true
	case "event":
		r.kind = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.id = string(value)
		}
	}
}
