package local

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const (
	// sealName is the file of the key that states are sealed with.
	sealName = "seal.key"
	// sealSize is the length of the key, in bytes: one of AES-256.
	sealSize = 32
)

// SealKey reads the key of the data folder that states are sealed with, and
// makes it, at random, where there is none. A file that is a symbolic link, that
// others can read or that is not whole is an error, a sentence for the operator:
// whoever removes it ends the questions of the last ten minutes, and with them
// every service token, whose hashes are made with a key derived from it.
func SealKey(dir string) ([]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := checkFolder(dir, os.Geteuid()); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, sealName)
	key, err := readSeal(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeSeal(dir, path); err == nil {
			key, err = readSeal(path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the key of sealed states: %w", err)
	}
	return key, nil
}

// readSeal reads the file without following a link, and without waiting where
// somebody made it a pipe.
func readSeal(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s is a symbolic link", path)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() // nothing was written
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := trusted(path, info, os.Geteuid()); err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", path)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("the mode %04o of %s lets group or others read it; remove it", info.Mode().Perm(), path)
	}
	key, err := io.ReadAll(io.LimitReader(file, sealSize+1))
	if err != nil {
		return nil, err
	}
	if len(key) != sealSize {
		return nil, fmt.Errorf("%s does not hold %d bytes; remove it", path, sealSize)
	}
	return key, nil
}

// makeSeal makes the file whole or not at all: a temporary one gets its name
// when it is on the disk, unless another process was first.
func makeSeal(dir, path string) error {
	temporary := path + "." + rand.Text()
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY|syscall.O_NOFOLLOW, fileMode)
	if err != nil {
		return err
	}
	defer os.Remove(temporary) // its other name stays
	key := make([]byte, sealSize)
	_, _ = rand.Read(key) // never fails since Go 1.24
	_, err = file.Write(key)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	// A rename would take the name from a key that another process uses already.
	if err := os.Link(temporary, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := openFolder(dir, os.Geteuid())
	if err != nil {
		return err
	}
	return errors.Join(f.sync(), f.handle.Close())
}
