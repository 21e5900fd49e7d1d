package local

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// closeTries is how often the last fold is tried where other processes keep
// the file locked: 64 of them may be ending at once.
const closeTries = 4

// tidy folds the trail, and what killed processes left beside it. Those who
// wait for room are told where it fails; the next try follows.
func (w *writer) tidy(t *trail) {
	_ = w.fold(t)
	if t.crowded() {
		_ = w.sweep(t.folder)
	}
}

// fold moves what was appended into SQLite, if nothing fails. Its transaction
// is on the disk before the journal's place is used again.
func (w *writer) fold(t *trail) error {
	data := t.sealed()
	if len(data) == 0 {
		return nil
	}
	var lost int64
	all, _, err := entries(bufio.NewReader(bytes.NewReader(data)))
	if err == nil {
		lost, err = w.keep(all)
	}
	t.folded(lost, err)
	return err
}

// finish folds all there is and removes the journal.
func (w *writer) finish(t *trail) error {
	var err error
	for try := 0; try < closeTries; {
		if err = w.fold(t); err != nil {
			try++
			continue
		}
		if len(t.sealed()) == 0 {
			break
		}
	}
	return errors.Join(err, t.remove(err == nil))
}

// sweep folds the journals that killed processes left, and removes them.
func (w *writer) sweep(f *folder) error {
	names, err := f.journals()
	if err != nil {
		return err
	}
	for _, name := range names {
		err := w.adopt(f, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", filepath.Join(f.dir, name), err)
		}
	}
	return nil
}

// adopt folds one journal, unless its process lives.
func (w *writer) adopt(f *folder, name string) (err error) {
	file, err := f.open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := conceal(file); err != nil {
		return err
	}
	if !lock(file) || !linked(file) {
		return nil
	}
	all, err := read(file)
	if err == nil {
		_, err = w.keep(all)
	}
	if err == nil {
		err = os.Remove(filepath.Join(f.dir, name))
	}
	return err
}

// keep puts records into SQLite, and counts the finals of calls that had
// another one. What is there already, from a fold whose process was killed
// before it could say so, is no conflict.
func (w *writer) keep(all []entry) (lost int64, err error) {
	merged, lost := merge(all)
	if len(merged) == 0 {
		return 0, nil
	}
	err = w.transaction(true, func(ctx context.Context) error {
		for _, e := range merged {
			kept, err := w.prepared.keep(ctx, e)
			if err != nil {
				return err
			}
			if !kept {
				lost++
			}
		}
		return nil
	})
	return lost, err
}

// keep inserts a record or completes the intent of its call. It reports
// whether the record is there now, or a later one of its call.
func (s *statements) keep(ctx context.Context, e entry) (bool, error) {
	inserted, err := changed(ctx, s.insert, e.call, e.tenant, e.state == final, e.time, e.agent, e.server, e.tool, e.run, e.outcome, e.record)
	if err != nil || inserted || e.state == intent {
		return true, err
	}
	completed, err := changed(ctx, s.complete, e.call, e.tenant, e.tool, e.outcome, e.record)
	if err != nil || completed {
		return true, err
	}
	var record string
	err = s.record.QueryRowContext(ctx, e.call, e.tenant).Scan(&record)
	return record == e.record, err
}

// merge puts an intent and the final of its call together: what the intent
// says of the call's identity stays. Of two finals the first stays, and the
// others are counted.
func merge(all []entry) (merged []entry, lost int64) {
	places := make(map[key]int, len(all))
	for _, e := range all {
		id := key{e.tenant, e.call}
		place, found := places[id]
		if !found {
			places[id] = len(merged)
			merged = append(merged, e)
			continue
		}
		was := &merged[place]
		switch {
		case was.state == intent && e.state == final:
			e.identify(*was)
			*was = e
		case was.state == final && e.state == intent:
			was.identify(e)
		case was.state == final && was.record != e.record:
			lost++
		}
	}
	return merged, lost
}

// identify takes over the columns that an intent determines.
func (e *entry) identify(i entry) {
	e.time, e.agent, e.server, e.run = i.time, i.agent, i.server, i.run
}
