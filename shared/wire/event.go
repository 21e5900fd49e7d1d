package wire

import (
	"errors"
	"io"
)

// The bounds that an event stream broke.
var (
	ErrTooLarge      = errors.New("event stream larger than its bound")
	ErrTooManyEvents = errors.New("event stream has more events than its bound")
)

// EventLimits bounds a stream. A zero bound allows nothing.
type EventLimits struct {
	Bytes  int64
	Events int
}

// Event is one event of a stream.
type Event struct {
	Type    string
	ID      string
	Data    []byte
	Partial bool
}

// EventReader reads an event stream.
type EventReader struct{ r io.Reader }

// NewEventReader reads events from r.
func NewEventReader(r io.Reader, l EventLimits) *EventReader { return &EventReader{r} }

// Next reads the next event.
func (e *EventReader) Next() (Event, error) { return Event{}, io.EOF }

// EventWriter writes an event stream.
type EventWriter struct{ w io.Writer }

// NewEventWriter writes events to w.
func NewEventWriter(w io.Writer) *EventWriter { return &EventWriter{w} }

// Message writes one message event.
func (e *EventWriter) Message(json []byte) error { return nil }

// Comment writes one comment line.
func (e *EventWriter) Comment() error { return nil }
