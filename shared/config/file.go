package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// MaxFile bounds a config file. A tenant of 256 servers with the longest lists
// has less.
const MaxFile = 4 << 20

// errLink is the error of a path whose last element is a symbolic link.
var errLink = errors.New("it is a symbolic link; name the file itself")

// errOwner is the error of a file that another user can change at any time.
var errOwner = errors.New("it belongs to another user; chown it to the user of the relay, or to root")

// readFile reads a file that nobody but the user uid and root can have changed,
// whole.
func readFile(path string, uid int) ([]byte, error) { return readBounded(path, uid, MaxFile) }

// readBounded is readFile with a bound of its own, in bytes.
func readBounded(path string, uid int, most int64) ([]byte, error) {
	// Without O_NONBLOCK, opening a named pipe would wait for its writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, errLink
	}
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, cause(err)
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("its mode %04o lets group or others write it; chmod go-w", info.Mode().Perm())
	case !ownedBy(info, uid):
		return nil, errOwner
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, cause(err)
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("it is larger than %d bytes", most)
	}
	return text, nil
}

// ownedBy reports whether the user uid or root owns a file.
func ownedBy(info fs.FileInfo, uid int) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == uid)
}

// cause leaves out the path, which the report names anyway.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
