package local

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A journal is called trail-<random>.log. Whoever appends to it holds its lock
// (flock), which ends with the process; a journal that can be locked is left
// over from a process that was killed.
const (
	journalPrefix = "trail-"
	journalSuffix = ".log"
)

// createTries bounds how often a journal is taken for one that was left over,
// in the microseconds between its making and its locking.
const createTries = 16

// settled is how old a change of the folder must be for the next one to have
// another time: kernels that give files the time of their last tick have ticks
// of at most 10 ms.
const settled = 20 * time.Millisecond

// folder is the data folder as journals are made and found in it.
type folder struct {
	dir    string
	uid    int
	handle *os.File

	// What shared knows, under the lock of the trail.
	own     string        // the journal of this trail; empty before its first record
	listed  unix.Timespec // the folder's time of change when it was listed
	certain bool          // that a later change has another time
	others  bool
}

func openFolder(dir string, uid int) (*folder, error) {
	handle, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	return &folder{dir: dir, uid: uid, handle: handle}, nil
}

// sync makes the names in the folder durable.
func (f *folder) sync() error { return f.handle.Sync() }

// create makes a journal and locks it.
func (f *folder) create() (*os.File, error) {
	for range createTries {
		name := journalPrefix + rand.Text() + journalSuffix
		file, err := os.OpenFile(filepath.Join(f.dir, name), os.O_CREATE|os.O_EXCL|os.O_RDWR|syscall.O_NOFOLLOW, fileMode)
		if err != nil {
			return nil, err
		}
		// Another process may have taken it for one that was left over.
		if lock(file) && linked(file) {
			f.own = name
			return file, nil
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("others lock every journal that is made")
}

// shared reports whether another process has a journal in the folder, or left
// one. It lists the folder only where something was made or removed in it.
func (f *folder) shared() bool {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.handle.Fd()), &stat); err != nil {
		return true
	}
	if f.certain && stat.Mtim == f.listed {
		return f.others
	}
	names, err := f.journals()
	if err != nil {
		return true
	}
	f.others = len(names) > 1 || len(names) == 1 && names[0] != f.own
	f.listed, f.certain = stat.Mtim, time.Since(time.Unix(stat.Mtim.Unix())) > settled
	return f.others
}

// crowded is what shared said last.
func (t *trail) crowded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.folder.others
}

// journals lists the names of all journals.
func (f *folder) journals() ([]string, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	var names []string
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, journalPrefix) && strings.HasSuffix(name, journalSuffix) {
			names = append(names, name)
		}
	}
	return names, nil
}

// open opens a journal for reading. What somebody else could have written is
// refused. One that is gone is fs.ErrNotExist.
func (f *folder) open(name string) (*os.File, error) {
	path := filepath.Join(f.dir, name)
	// A pipe of this name must not keep us waiting.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s is a symbolic link", path)
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = trusted(path, info, f.uid)
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// each opens all journals but one, in turn.
func (f *folder) each(but string, use func(*os.File) error) error {
	names, err := f.journals()
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == but {
			continue
		}
		file, err := f.open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // folded meanwhile
		}
		if err != nil {
			return err
		}
		if err = errors.Join(use(file), file.Close()); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(f.dir, name), err)
		}
	}
	return nil
}

// pending gives the records of all journals, as far as they are whole, those
// of each journal in the order in which they were written.
func (f *folder) pending() (all []entry, err error) {
	err = f.each("", func(file *os.File) error {
		some, err := read(file)
		all = append(all, some...)
		return err
	})
	return all, err
}

// look gives how far the record of a call is in all journals but one.
func (f *folder) look(but string, id key) (had state, err error) {
	var r *bufio.Reader
	err = f.each(but, func(file *os.File) error {
		for i := range halves {
			r = section(r, file, i)
			found, err := search(r, id)
			if err != nil {
				return err
			}
			had = max(had, found)
		}
		return nil
	})
	return had, err
}

// read gives the records of a journal in the order in which they were written.
func read(file io.ReaderAt) ([]entry, error) {
	var r *bufio.Reader
	var parts [halves][]entry
	var begins [halves]uint64
	for i := range parts {
		var err error
		r = section(r, file, i)
		if parts[i], begins[i], err = entries(r); err != nil {
			return nil, err
		}
	}
	if begins[1] < begins[0] {
		parts[0], parts[1] = parts[1], parts[0]
	}
	return append(parts[0], parts[1]...), nil
}

// section reads one half of a journal, through a buffer that is used again.
func section(r *bufio.Reader, file io.ReaderAt, i int) *bufio.Reader {
	source := io.NewSectionReader(file, int64(i)*halfSize, halfSize)
	if r == nil {
		return bufio.NewReaderSize(source, readBuffer)
	}
	r.Reset(source)
	return r
}

// lock takes a journal, unless its process lives.
func lock(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// linked reports whether a file still has a name.
func linked(file *os.File) bool {
	info, err := file.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 0
}

// conceal takes the permission to read a journal away from everybody else.
func conceal(file *os.File) error {
	info, err := file.Stat()
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return file.Chmod(fileMode)
}
