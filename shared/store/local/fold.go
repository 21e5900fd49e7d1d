package local

import (
	"errors"
	"os"
	"path/filepath"
)

// resting reports whether a fold that is due should begin: nothing was written
// since it was due last, or it has been put off for long. Otherwise it is due
// again after another pause.
func (t *trail) resting() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sequence == t.seen || t.pauses == mostPauses {
		return true
	}
	t.seen, t.pauses = t.sequence, t.pauses+1
	t.due.Reset(t.pause)
	return false
}

// sealed gives what is to be folded: what the last fold failed on, or all that
// was appended since the last one. It is left as it is until folded is called.
func (t *trail) sealed() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h := &t.halves[1-t.active]; h.records > 0 {
		return h.data
	}
	h := &t.halves[t.active]
	if h.records == 0 {
		return nil
	}
	t.active = 1 - t.active
	t.pauses = 0
	t.known.turn()
	t.due.Stop()
	select {
	case <-t.ripe:
	default:
	}
	return h.data
}

// folded says how the fold of what sealed gave has ended.
func (t *trail) folded(lost int64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failure = err
	if err == nil {
		t.lost += lost
		t.empty(1 - t.active)
	}
	close(t.folds)
	t.folds = make(chan struct{})
	switch h := &t.halves[t.active]; {
	case err == nil && len(h.data) >= ripe:
		t.hurry()
	case err != nil || h.records > 0:
		t.due.Reset(t.pause)
	}
}

// empty makes a half ready for the next records.
func (t *trail) empty(i int) {
	h := &t.halves[i]
	// So that nobody reads what is in SQLite. Who does nevertheless, after a
	// power loss, finds that he knows it.
	_, _ = t.file.WriteAt(make([]byte, headSize), int64(i)*halfSize)
	if h.data = h.data[:0]; cap(h.data) > keptBuffer {
		h.data = nil
	}
	h.records = 0
}

// counted is how many finals were lost to another.
func (t *trail) counted() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

// close ends all writing, and waits for those who wait for the disk.
func (t *trail) close() {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		close(t.folds)
		t.folds = make(chan struct{})
	}
	t.mu.Unlock()
	t.awaiting.Wait()
}

// remove removes the journal where everything is in SQLite; otherwise the next
// process that opens the folder folds it.
func (t *trail) remove(all bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return t.folder.handle.Close()
	}
	var err error
	if all {
		err = os.Remove(filepath.Join(t.folder.dir, t.folder.own))
	}
	return errors.Join(err, t.file.Close(), t.folder.handle.Close())
}
