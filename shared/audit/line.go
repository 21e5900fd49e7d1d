package audit

import (
	"io"
	"sync"
	"time"
)

// Message is the msg of every canonical line.
const Message = "call"

const linePrefix = `{"level":"INFO","msg":"` + Message + `",`

const (
	// maxPending bounds the lines that wait to be written, in bytes: about 100.
	maxPending = 64 << 10
	// maxKept is the largest buffer that is kept for the next lines.
	maxKept = 2 * maxPending
)

// Log is where lines go: the canonical ones, and as an [io.Writer] whatever
// else the program logs. Lines are written whole, in the order they came in,
// and no two writes happen at once, so that none is torn.
type Log struct {
	pause time.Duration

	mu      sync.Mutex
	w       io.Writer
	pending []byte      // whole lines
	timer   *time.Timer // runs while lines wait
	waiting bool
}

// NewLog makes a log over w; nil discards every line. With a pause, lines that
// are given to Later may wait that long for others, since a write to a file
// costs a tenth of a call; without, nothing waits. Whoever sets one must Close
// the log.
func NewLog(w io.Writer, pause time.Duration) *Log { return &Log{w: w, pause: pause} }

// Record writes the canonical line of a record, and what waits: one JSON object
// a call with fixed keys, which are the JSON names of [Record]'s fields. An
// intent's line differs by its state only. The error is the writer's.
func (l *Log) Record(r *Record) error {
	if l.w == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(appendLine(l.pending, r), '\n')
	return l.flush()
}

// Later is Record for a line that nobody relies on, because the record is kept
// elsewhere: it is written with the next line, or after the pause.
func (l *Log) Later(r *Record) {
	if l.pause == 0 || l.w == nil {
		_ = l.Record(r) // a log that cannot be written has nowhere to say so
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending = append(appendLine(l.pending, r), '\n'); len(l.pending) >= maxPending {
		_ = l.flush()
		return
	}
	switch {
	case l.timer == nil:
		l.timer = time.AfterFunc(l.pause, l.overdue)
	case !l.waiting:
		l.timer.Reset(l.pause)
	}
	l.waiting = true
}

// overdue writes what has waited for the pause.
func (l *Log) overdue() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = false
	_ = l.flush()
}

// Write writes a line of another kind, and what waits.
func (l *Log) Write(line []byte) (int, error) {
	if l.w == nil {
		return len(line), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, line...)
	return len(line), l.flush()
}

// Close writes what waits. Later lines are written at once.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pause = 0
	if l.timer != nil {
		l.timer.Stop()
	}
	return l.flush()
}

// flush writes what waits. What cannot be written is dropped: it would grow.
func (l *Log) flush() error {
	lines := l.pending
	if l.pending = lines[:0]; cap(lines) > maxKept {
		l.pending = nil
	}
	if len(lines) == 0 {
		return nil
	}
	_, err := l.w.Write(lines)
	return err
}

// appendLine appends the canonical line without its line break.
func appendLine(dst []byte, r *Record) []byte {
	dst = append(dst, linePrefix...)
	start := len(dst)
	dst = r.AppendJSON(dst)
	return append(dst[:start], dst[start+1:]...) // one object, so one brace
}
