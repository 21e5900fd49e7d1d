package local

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/binary"
	"io"
	"os"
	"runtime"
	"time"

	"mcprelay/shared/audit"
)

// Full reports whether the last batch waited for the disk.
func (s *Store) Full() (full bool) {
	s.writes.inTurn(func() { full = s.writes.full })
	return full
}

// Do runs a task of a test in a batch, never in the caller's own goroutine: what
// is queued meanwhile stays queued, since the writer's goroutine is at work.
func (s *Store) Do(ctx context.Context, durable bool, do func(context.Context, *sql.Conn) error) error {
	return s.writes.enqueue(ctx, &request{
		ctx: ctx, durable: durable, reply: make(chan error, 1),
		task: func(ctx context.Context, _ *statements) error { return do(ctx, s.writes.conn) },
	})
}

// Prepare makes or checks a folder for the user uid.
func Prepare(dir string, uid int) error {
	_, err := prepare(dir, uid)
	return err
}

// Find checks a folder for the user uid.
func Find(dir string, uid int) error {
	_, err := find(dir, uid)
	return err
}

// FileName is the name of the file in the folder.
const FileName = fileName

// AwaitQueue waits until n requests wait behind the one that is carried out.
func (s *Store) AwaitQueue(n int) {
	for len(s.writes.queue) != n {
		runtime.Gosched()
	}
}

// The bounds of a journal.
const (
	HalfSize = halfSize
	Ripe     = ripe
	Recent   = recent
	HeadSize = headSize
	Settled  = settled
)

// Hold lets records wait for a fold until Fold is called or enough are there.
func (s *Store) Hold() { s.Pause(time.Hour) }

// Pause sets how long records wait for a fold.
func (s *Store) Pause(d time.Duration) {
	s.trail.mu.Lock()
	defer s.trail.mu.Unlock()
	s.trail.pause = d
}

// Fold folds what has been written, at once.
func (s *Store) Fold() (err error) {
	s.writes.inTurn(func() { err = s.writes.fold(s.trail) })
	return err
}

// Tidy is what the writer's goroutine does when a fold is due.
func (s *Store) Tidy() { s.writes.inTurn(func() { s.writes.tidy(s.trail) }) }

// Resting is what is asked when a fold is due.
func (s *Store) Resting() bool { return s.trail.resting() }

// MostPauses is how often a fold is put off.
const MostPauses = mostPauses

// Folds is closed when a fold has ended that has not ended yet.
func (s *Store) Folds() <-chan struct{} {
	s.trail.mu.Lock()
	defer s.trail.mu.Unlock()
	return s.trail.folds
}

// Unfolded is how many records are in the journal and not in SQLite.
func (s *Store) Unfolded() int {
	s.trail.mu.Lock()
	defer s.trail.mu.Unlock()
	return s.trail.halves[0].records + s.trail.halves[1].records
}

// OnFlush puts f in the place of the wait for the disk.
func (s *Store) OnFlush(f func(*os.File) error) {
	s.trail.disk.mu.Lock()
	defer s.trail.disk.mu.Unlock()
	s.trail.disk.flush = f
}

// OnAsk calls f after others and SQLite were asked for a call.
func (s *Store) OnAsk(f func()) {
	s.trail.mu.Lock()
	defer s.trail.mu.Unlock()
	s.trail.ask = func(ctx context.Context, own string, id key) (state, error) {
		had, err := s.ask(ctx, own, id)
		f()
		return had, err
	}
}

// Abandon leaves a store as the kill of its process does: nothing is folded,
// the journal stays, its lock is free.
func (s *Store) Abandon() error {
	s.trail.close()
	s.trail.mu.Lock()
	defer s.trail.mu.Unlock()
	file := s.trail.file
	s.trail.file, s.trail.halves = nil, [halves]half{}
	return file.Close()
}

// Journal is the name of the store's journal.
func (s *Store) Journal() string {
	s.trail.mu.Lock()
	defer s.trail.mu.Unlock()
	return s.trail.folder.own
}

// Frame is the frame of a record, a final where ended.
func Frame(r audit.Record, ended bool, sequence uint64) ([]byte, error) {
	as := intent
	if ended {
		as = final
	}
	frame, err := appendFrame(nil, as, &r)
	if err == nil {
		seal(frame, sequence)
	}
	return frame, err
}

// Scan gives the bytes of each frame that a run of frames holds, made anew of
// what was read.
func Scan(source io.Reader) (frames [][]byte, err error) {
	all, sequence, err := entries(bufio.NewReader(source))
	for i, e := range all {
		frames = append(frames, e.frame(sequence+uint64(i)))
	}
	return frames, err
}

// frame makes the frame of an entry, apart from appendFrame.
func (e entry) frame(sequence uint64) []byte {
	frame := append(make([]byte, headSize), byte(e.state))
	frame = binary.LittleEndian.AppendUint64(frame, uint64(e.time))
	for _, text := range []string{e.call, e.tenant, e.agent, e.server, e.tool, e.run, e.outcome} {
		frame = append(binary.AppendUvarint(frame, uint64(len(text))), text...)
	}
	frame = append(frame, e.record...)
	seal(frame, sequence)
	return frame
}

// ErrNewer says that a whole frame is not understood.
var ErrNewer = errNewer

// Seal makes the head of a frame anew.
func Seal(frame []byte, sequence uint64) { seal(frame, sequence) }
