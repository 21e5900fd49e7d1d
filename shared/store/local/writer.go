package local

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"modernc.org/sqlite"
)

const (
	// maxBatch bounds the requests of one transaction, and those that wait.
	maxBatch = 256
	// expireEvery is the pause between two deletions of what has expired.
	expireEvery = time.Hour
	// checkpointPages is when SQLite moves the log into the file: 16 MB of
	// pages. With its own 1,000 a lone row took 65 µs instead of 46, since
	// every 250th waits for the file to be synced.
	checkpointPages = 4000
)

// task changes rows, alone or inside the transaction of a batch. One statement
// of it at most changes anything, so that alone it is a transaction too. An
// error that is not SQLite's own must mean that nothing was changed.
type task func(ctx context.Context, s *statements) error

// request is one task on its way to the writer.
type request struct {
	ctx     context.Context
	durable bool // on the disk, not only with the kernel, when it is answered
	task    task
	reply   chan error // holds one
}

// writer owns the only connection that writes. A request that finds nobody
// writing is carried out by its own goroutine: handing it to another and back
// costs as much as the write; but where another process is in the way, the wait
// for it is the writer's. Requests that come meanwhile are queued and share
// the next transaction, so that a commit's cost, most of it the wait for the
// disk, is paid once for all of them; they stop waiting when their ctx ends,
// also where the disk hangs.
//
// The records of the trail come by another way, many at a time: see trail.
//
// The pragma synchronous says when SQLite waits for the disk. FULL does at
// every commit, and is set for a batch that holds a durable request; with
// NORMAL a commit survives the end of the process but perhaps not of the
// machine. A lone row takes 350 µs with FULL, 60 to 100 with NORMAL. The
// setting is changed between batches on this one connection, which takes 3 µs:
// a second connection with the other setting would read every page anew that
// the first one wrote.
type writer struct {
	db       *sql.DB
	conn     *sql.Conn
	prepared *statements
	turn     sync.Mutex // held by whoever uses conn; never released after close
	full     bool       // the connection's synchronous setting
	patient  bool       // the connection waits for other processes
	queue    chan *request
	once     sync.Once
	closing  chan struct{}
	ended    chan struct{}
	last     error // of the last fold; set before ended
}

// openWriter opens the file and makes its tables; run begins the work.
func openWriter(path string) (*writer, error) {
	// fdatasync leaves out the timestamps of a file, nothing else; SQLite uses
	// it wherever it is built for Linux. Elsewhere the default stays.
	_, _ = sqlite.Fdatasync(true)
	db, err := sql.Open("sqlite", source(path, "synchronous(FULL)"))
	if err != nil {
		return nil, err
	}
	w := &writer{
		db: db, full: true, patient: true,
		queue: make(chan *request, maxBatch), closing: make(chan struct{}), ended: make(chan struct{}),
	}
	if err := w.connect(context.Background()); err != nil {
		return nil, errors.Join(err, w.disconnect())
	}
	return w, nil
}

func (w *writer) connect(ctx context.Context) (err error) {
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return err
	}
	if err := settle(ctx, w.conn); err != nil {
		return err
	}
	if err := pragma(ctx, w.conn, "wal_autocheckpoint", checkpointPages); err != nil {
		return err
	}
	w.prepared, err = prepareAll(ctx, w.conn)
	return err
}

// write carries a task out, or queues it and waits for its transaction. Once
// ctx has ended it no longer waits: a queued task may still be carried out.
func (w *writer) write(ctx context.Context, durable bool, t task) error {
	r := &request{ctx: ctx, durable: durable, task: t}
	select {
	case <-w.closing:
		return ErrClosed
	default:
	}
	if len(w.queue) == 0 && w.turn.TryLock() {
		if err := w.atOnce(r); !busy(err) {
			return err
		}
	}
	r.reply = make(chan error, 1)
	return w.enqueue(ctx, r)
}

// atOnce carries out a request whose goroutine has taken the turn. It does not
// wait for another process, which would ignore the end of the request's ctx.
func (w *writer) atOnce(r *request) error {
	defer w.turn.Unlock()
	return w.alone(r, false)
}

// enqueue hands a request to the writer's goroutine and waits for its reply.
func (w *writer) enqueue(ctx context.Context, r *request) error {
	select {
	case w.queue <- r:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.ended:
		return ErrClosed
	}
	select {
	case err := <-r.reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-w.ended:
	}
	select {
	case err := <-r.reply:
		return err
	default: // queued after the writer's last look
		return ErrClosed
	}
}

// close carries out what is queued, then ends.
func (w *writer) close() (err error) {
	w.once.Do(func() {
		close(w.closing)
		<-w.ended
		err = errors.Join(w.last, w.disconnect())
	})
	return err
}

func (w *writer) disconnect() error {
	var err error
	if w.conn != nil {
		err = w.conn.Close()
	}
	return errors.Join(err, w.db.Close())
}
