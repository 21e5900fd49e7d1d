package local

import (
	"os"

	"golang.org/x/sys/unix"
)

// flush waits until what was written to a file is on the disk. It leaves out
// the times of the file, nothing else.
func flush(file *os.File) error {
	for {
		if err := unix.Fdatasync(int(file.Fd())); err != unix.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}

// allocate reserves a part of a file.
func allocate(file *os.File, offset, length int64) error {
	return unix.Fallocate(int(file.Fd()), 0, offset, length)
}
