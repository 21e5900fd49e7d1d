package local

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
)

// disk lets the writers of a journal wait until their records are on the disk.
// Those that come while one of them waits wait for the next round together:
// a round takes 150 to 350 µs, however many records it is for.
type disk struct {
	mu      sync.Mutex
	file    *os.File
	flush   func(*os.File) error
	reached func() uint64 // the sequence of the record that comes next
	anchor  func() error  // makes the file's name durable; nil once it is
	safe    uint64        // the first sequence that may not be on the disk
	busy    bool          // a round is under way
	ended   chan struct{} // closed and replaced when a round has ended
	failure error         // of a round, for good
}

// use is called once, before the first await.
func (d *disk) use(file *os.File, anchor func() error, reached func() uint64, first uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.file, d.anchor, d.reached, d.safe = file, anchor, reached, first
}

// await returns when the record of a sequence is on the disk. It leads a round
// where none is under way, and stops waiting for another's when ctx ends.
//
// When the kernel has failed to write something once, it forgets that it had
// to (fsync(2), EIO): no later success means anything, so the failure stays,
// and this process writes no further intents.
func (d *disk) await(ctx context.Context, sequence uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		switch {
		case sequence < d.safe:
			return nil
		case d.failure != nil:
			return fmt.Errorf("journal: %w", d.failure)
		case !d.busy:
			d.round()
			continue
		}
		ended := d.ended
		d.mu.Unlock()
		var err error
		select {
		case <-ended:
		case <-ctx.Done():
			err = ctx.Err()
		}
		d.mu.Lock()
		if err != nil {
			return err
		}
	}
}

// round waits for the disk, without the lock.
func (d *disk) round() {
	d.busy = true
	anchor := d.anchor
	d.mu.Unlock()
	// Whoever the last round has released may write its next intent first: of
	// 8 writers 7 share a round instead of 4, of 64 writers 41 instead of 15.
	runtime.Gosched()
	reached := d.reached()
	err := d.flush(d.file)
	if err == nil && anchor != nil {
		err = anchor()
	}
	d.mu.Lock()
	d.busy, d.failure, d.anchor = false, err, nil
	if err == nil {
		d.safe = reached
	}
	close(d.ended)
	d.ended = make(chan struct{})
}
