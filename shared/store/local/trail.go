package local

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"mcprelay/shared/audit"
)

// The bounds of what is written and not yet in SQLite.
const (
	halves = 2
	// halfSize bounds one half of a journal, in bytes: about 10,000 records, or
	// two seconds of a busy relay. Readers count on it: it never changes.
	halfSize = 8 << 20
	// halfRecords bounds the records of one half, whatever their size.
	halfRecords = 16384
	// ripe is the size at which a half is folded at once, whoever is calling:
	// about 5,000 records, 60 ms of work. Until then a fold waits for a pause
	// between calls: it takes as much time as a sixth of a call a record.
	ripe = 4 << 20
	// foldPause is how long nothing may have been written for a fold to begin.
	foldPause = 250 * time.Millisecond
	// mostPauses is how often a fold is put off because something was.
	mostPauses = 20
	// keptBuffer is the largest buffer that is kept for the next records.
	keptBuffer = ripe + ripe/2
)

// trail is the journal of one open folder: records are appended to it, which
// takes a tenth of a transaction, and folded into SQLite many at a time.
// It is in the kernel's hands when it is appended, so it survives the kill of
// this process; an intent waits for the disk besides.
//
// The file has two halves. One takes records; the other is empty or on its way
// into SQLite. It is used again only after its transaction is on the disk.
// Hence a record that was acknowledged stands, at every moment, in the file or
// in SQLite. Who reads the file first and SQLite then misses none; who finds
// it in both takes SQLite's.
type trail struct {
	folder *folder
	// ask says what SQLite, and journals but the one of this name, know of a call.
	ask    func(ctx context.Context, own string, id key) (state, error)
	now    func() time.Time
	frames sync.Pool // of *[]byte
	disk   disk
	due    *time.Timer   // runs while the half that takes records holds some
	ripe   chan struct{} // holds one: do not wait for due

	awaiting sync.WaitGroup // writers that wait for the disk

	mu       sync.Mutex
	pause    time.Duration
	file     *os.File // nil before the first record
	halves   [halves]half
	active   int // the half that takes records
	sequence uint64
	seen     uint64 // sequence when due ran out last
	pauses   int    // how often the fold of the active half was put off
	known    known
	closed   bool
	folds    chan struct{} // closed and replaced when a fold has ended
	failure  error         // of the last fold
	lost     int64         // finals of calls that had another
}

// half is one half of a journal.
type half struct {
	data      []byte // as in the file
	records   int
	allocated bool
}

// openTrail folds what killed processes left, then begins a trail.
func openTrail(ctx context.Context, w *writer, dir string) (*trail, error) {
	f, err := openFolder(dir, os.Geteuid())
	if err != nil {
		return nil, err
	}
	t := newTrail(f)
	// What another process keeps from us now is left for later.
	err = w.sweep(f)
	if err == nil || busy(err) {
		err = t.begin(ctx, w)
	}
	if err != nil {
		return nil, errors.Join(err, f.handle.Close())
	}
	return t, nil
}

func newTrail(f *folder) *trail {
	t := &trail{
		folder: f, now: time.Now, pause: foldPause,
		due: time.NewTimer(foldPause), ripe: make(chan struct{}, 1), folds: make(chan struct{}),
		disk: disk{flush: flush, ended: make(chan struct{})},
	}
	t.due.Stop()
	t.frames.New = func() any { return new([]byte) }
	return t
}

// begin chooses the first sequence, and the horizon behind all that is there.
func (t *trail) begin(ctx context.Context, w *writer) error {
	var random [8]byte
	// crypto/rand.Read never fails since Go 1.24.
	_, _ = rand.Read(random[:])
	t.sequence = binary.LittleEndian.Uint64(random[:]) >> 1 // it never wraps
	t.known.raise(uint64(t.now().UnixMilli()))
	var latest string
	if err := w.conn.QueryRowContext(ctx, `SELECT coalesce(max(call_id), '') FROM audit`).Scan(&latest); err != nil {
		return err
	}
	if id, err := ulid.ParseStrict(latest); err == nil {
		t.known.raise(id.Time())
	}
	return nil
}

// put writes a record, and returns when it would survive the kill of this
// process or, an intent, the loss of power.
func (t *trail) put(ctx context.Context, as state, r *audit.Record) error {
	id, err := ulid.ParseStrict(r.CallID)
	switch {
	case err != nil:
		return fmt.Errorf("call id %q: %w", r.CallID, err)
	case r.Tenant == "":
		return fmt.Errorf("record of %s without a tenant", r.CallID)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	buffer := t.frames.Get().(*[]byte)
	defer t.frames.Put(buffer)
	frame, err := appendFrame((*buffer)[:0], as, r)
	if err != nil {
		return err
	}
	*buffer = frame[:0]
	sequence, err := t.add(ctx, as, call{key{r.Tenant, r.CallID}, id.Time()}, frame)
	if err != nil || as != intent {
		return err
	}
	defer t.awaiting.Done()
	return t.disk.await(ctx, sequence)
}
