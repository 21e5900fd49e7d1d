package wire

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

// The bounds that an event stream broke.
var (
	ErrTooLarge      = errors.New("the event stream is larger than its bound")
	ErrTooManyEvents = errors.New("the event stream has more events than its bound")
)

const (
	// eventChunk is the memory for events to begin with, in bytes: most
	// replies fit.
	eventChunk = 8 << 10
	// eventGrowth is by how much that grows at once. Four keeps what is
	// copied on the way below a half of the event.
	eventGrowth = 4
	// maxKept bounds what is kept for other streams.
	maxKept = 1 << 20
)

// memories keeps memory that streams were read into: fresh memory for an event
// of 256 KiB costs several times what reading it does.
var memories = sync.OnceValue(func() *sync.Pool {
	return &sync.Pool{New: func() any { return &memory{make([]byte, 0, eventChunk)} }}
})

// memory is what a stream is read into. No event refers to it.
type memory struct{ bytes []byte }

// EventLimits bounds a stream. A zero bound allows nothing.
type EventLimits struct {
	Bytes  int64 // of the decoded stream: fields, comments and line ends
	Events int   // with or without data; comments alone are no event
}

// defaultType is the type of an event that names none.
const defaultType = "message"

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
	ended  error // how the source ended
	broken error // the bound that was met

	memory *memory
	buf    []byte // what was read of the event in hand, and of what follows
	next   int    // where in buf the unread begins
	looked int    // how much of the unread holds no line end

	begun   bool // a first line was read
	afterCR bool // an LF now belongs to the line end before it
	fields  bool // the event has a field
	kind    string
	id      string
	hasData bool
	from    int // where in buf the data is, its lines joined
	to      int
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
		from, to, err := r.readLine()
		switch {
		case err == io.EOF:
			return r.last()
		case err != nil:
			return Event{}, err
		case to > from:
			r.field(from, to)
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
		event.Type = defaultType
	}
	if r.to > r.from {
		event.Data = bytes.Clone(r.buf[r.from:r.to])
	}
	r.fields, r.kind, r.hasData, r.from, r.to = false, "", false, 0, 0
	if r.next == len(r.buf) {
		r.release()
	}
	return event, nil
}

// release lets others use the memory, in which nothing is left.
func (r *EventReader) release() {
	if r.memory != nil && cap(r.buf) <= maxKept {
		r.memory.bytes = r.buf[:0]
		memories().Put(r.memory)
	}
	r.memory, r.buf, r.next = nil, nil, 0
}

// field reads one line that is not blank.
func (r *EventReader) field(from, to int) {
	line := r.buf[from:to]
	colon := bytes.IndexByte(line, ':')
	if colon == 0 {
		return // a comment
	}
	r.fields = true
	name, value := line, line[len(line):]
	if colon > 0 {
		name, value = line[:colon], bytes.TrimPrefix(line[colon+1:], []byte(" "))
	}
	switch string(name) {
	case "data":
		r.addData(to-len(value), to)
	case "event":
		if r.kind = defaultType; string(value) != defaultType {
			r.kind = string(value)
		}
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.id = string(value)
		}
	}
}

// addData adds a line to the data of the event. It is moved to the end of the
// line before it, from which a field's name and a line end at least separate
// it.
func (r *EventReader) addData(from, to int) {
	if !r.hasData {
		r.hasData, r.from, r.to = true, from, to
		return
	}
	r.buf[r.to] = '\n'
	r.to += 1 + copy(r.buf[r.to+1:], r.buf[from:to])
}
