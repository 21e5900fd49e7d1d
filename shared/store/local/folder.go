package local

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// fileName is the database's; SQLite puts -wal and -shm beside it.
const fileName = "relay.db"

// busyTimeout is how long SQLite waits for another process, in milliseconds:
// less than the 3 s that the relay gives one write of a record.
const busyTimeout = 2000

// prepare makes the folder and the file, or checks those that are there, and
// gives the file's absolute path. An existing folder or file of the right owner
// that others may read is closed to them.
func prepare(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("data folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("data folder: %w", err)
	}
	if err := private(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, fileName)
	if err := create(path); err != nil {
		return "", err
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := private(path+suffix, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return path, nil
}

// create makes the file with its permissions; SQLite gives the files beside it
// the same. A file that is there is not opened: closing it again would drop
// the locks that SQLite holds on it in this process (POSIX fcntl).
func create(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil // another process was first
	case err != nil:
		return fmt.Errorf("data file: %w", err)
	}
	return file.Close()
}

// private refuses what is not a plain folder or file of our own and takes the
// permissions of others away.
func private(path string, mode fs.FileMode) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link", path)
	case mode == 0o700 && !info.IsDir():
		return fmt.Errorf("%s is not a folder", path)
	case mode == 0o600 && !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a file", path)
	case info.Mode().Perm()&0o077 == 0:
		return nil
	}
	if err := os.Chmod(path, mode); err != nil {
		return fmt.Errorf("%s is open to others: %w", path, err)
	}
	return nil
}

// source is the data source name of the file, whatever characters its path has.
func source(path string, pragmas ...string) string {
	query := url.Values{"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busyTimeout)}, pragmas...)}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query.Encode()
}
