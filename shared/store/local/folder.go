package local

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
)

// fileName is the database's; SQLite puts -wal and -shm beside it.
const fileName = "relay.db"

// The permissions of what is made.
const (
	folderMode fs.FileMode = 0o700
	fileMode   fs.FileMode = 0o600
)

// busyTimeout is how long SQLite waits for another process, in milliseconds:
// less than the 3 s that the relay gives one write of a record.
const busyTimeout = 2000

// prepare makes the folder and the file, or checks those that are there, for
// the user uid, and gives the file's absolute path. The mode of an existing
// folder stays as it is: others may read it, not write it. The files in it are
// ours alone.
func prepare(dir string, uid int) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("data folder: %w", err)
	}
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return "", fmt.Errorf("data folder: %w", err)
	}
	if err := checkFolder(dir, uid); err != nil {
		return "", err
	}
	path := filepath.Join(dir, fileName)
	if err := create(path); err != nil {
		return "", err
	}
	return path, checkFiles(path, uid)
}

// find is prepare that makes nothing: what is not there is the error.
func find(dir string, uid int) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("data folder: %w", err)
	}
	path := filepath.Join(dir, fileName)
	if err := checkFolder(dir, uid); err != nil {
		return "", orNone(err, path)
	}
	if _, err := os.Lstat(path); err != nil {
		return "", orNone(err, path)
	}
	return path, checkFiles(path, uid)
}

// orNone is the sentence for a store that is not there.
func orNone(err error, path string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return noStore(path)
	}
	return err
}

func noStore(path string) error {
	return fmt.Errorf("there is no store in %s", filepath.Dir(path))
}

// create makes the file with its permissions; SQLite gives the files beside it
// the same. A file that is there is not opened: closing it again would drop
// the locks that SQLite holds on it in this process (POSIX fcntl).
func create(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil // another process was first
	case err != nil:
		return fmt.Errorf("data file: %w", err)
	}
	return file.Close()
}

// checkFolder refuses a folder in which somebody else could put a file of
// theirs in place of ours.
func checkFolder(dir string, uid int) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if err := trusted(dir, info, uid); err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", dir)
	}
	return nil
}

// checkFiles refuses files that somebody else could have written, and takes the
// permission to read them away from everybody else.
func checkFiles(path string, uid int) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		info, err := os.Lstat(path + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = trusted(path+suffix, info, uid)
		}
		switch {
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is not a file", path+suffix)
		case info.Mode().Perm()&0o077 == 0:
			continue
		}
		if err := os.Chmod(path+suffix, fileMode); err != nil {
			return fmt.Errorf("%s is open to others: %w", path+suffix, err)
		}
	}
	return nil
}

// trusted refuses a symbolic link and what anybody but the user uid and root
// can change.
func trusted(path string, info fs.FileInfo, uid int) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link", path)
	case !ok || stat.Uid != 0 && int(stat.Uid) != uid:
		return fmt.Errorf("%s belongs to another user", path)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("the mode %04o of %s lets group or others write it; chmod go-w", info.Mode().Perm(), path)
	}
	return nil
}

// source is the data source name of the file, whatever characters its path has.
func source(path string, pragmas ...string) string {
	query := url.Values{"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busyTimeout)}, pragmas...)}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query.Encode()
}
