package audit

import (
	"io"
	"sync"
)

// Message is the msg of every canonical line.
const Message = "call"

const linePrefix = `{"level":"INFO","msg":"` + Message + `",`

// maxKeptLine is the largest buffer that is kept for the next line, in bytes:
// a line has about 700, one with a long detail and a preview 2,000.
const maxKeptLine = 8 << 10

// Log is where lines go: the canonical ones, and as an [io.Writer] whatever
// else the program logs. Every line is one write, and no two are written at
// once, so that none is torn.
type Log struct {
	mu   sync.Mutex
	w    io.Writer
	line []byte
}

// NewLog makes a log over w; nil discards every line.
func NewLog(w io.Writer) *Log { return &Log{w: w} }

// Record writes the canonical line of a record: one JSON object a call with
// fixed keys, which are the JSON names of [Record]'s fields. An intent's line
// differs by its state only. The error is the writer's.
func (l *Log) Record(r *Record) error {
	if l.w == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	line := append(appendLine(l.line[:0], r), '\n')
	if l.line = line; cap(line) > maxKeptLine {
		l.line = nil
	}
	_, err := l.w.Write(line)
	return err
}

// Write writes a line of another kind.
func (l *Log) Write(line []byte) (int, error) {
	if l.w == nil {
		return len(line), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(line)
}

// appendLine appends the canonical line without its line break.
func appendLine(dst []byte, r *Record) []byte {
	dst = append(dst, linePrefix...)
	start := len(dst)
	dst = r.AppendJSON(dst)
	return append(dst[:start], dst[start+1:]...) // one object, so one brace
}
