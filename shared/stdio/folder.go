package stdio

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// folder is the working directory of one child, for as long as the child lives.
type folder struct {
	path string
	lock *os.File // nil where it could not be locked
}

const (
	// folderPrefix is what the names of children's folders begin with: what
	// follows is the relay's process id and a number.
	folderPrefix = "mcprelay-"
	// newPrefix begins the name of one that is not locked yet.
	newPrefix = folderPrefix + "new-"
	// maxNames bounds how many names of the system's folder for such things are
	// looked at for what dead relays left: a busy machine has some thousands.
	maxNames = 10_000
	// maxSwept bounds how many folders are removed by one relay: a relay leaves
	// at most MaxChildren, and the next one may go on.
	maxSwept = 8 * MaxChildren
)

// makeFolder makes an empty folder that only the relay's user can open. It has
// its name once it is locked, so that no other relay can take it for one of a
// dead relay's. The lock ends with the relay, however that ends (flock(2)).
func makeFolder() (*folder, error) {
	path, err := os.MkdirTemp("", newPrefix)
	if err != nil {
		return nil, err
	}
	f := &folder{path: path}
	if f.lock, err = lock(path); err != nil {
		return f, nil // it cannot be locked there, and is never swept
	}
	named := filepath.Join(filepath.Dir(path), folderPrefix+strconv.Itoa(os.Getpid())+"-"+strings.TrimPrefix(filepath.Base(path), newPrefix))
	if err := os.Rename(path, named); err != nil {
		f.unlock()
		_ = os.Remove(path)
		return nil, err
	}
	f.path = named
	return f, nil
}

// remove removes the folder and what is in it.
func (f *folder) remove() error {
	defer f.unlock()
	return os.RemoveAll(f.path)
}

func (f *folder) unlock() {
	if f.lock != nil {
		_ = f.lock.Close()
	}
}

// errOthers says that a folder is not this user's.
var errOthers = errors.New("another user's folder")

// lock locks a folder of the relay's user, unless somebody has it locked.
func lock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		if of, ok := info.Sys().(*syscall.Stat_t); !ok || int(of.Uid) != os.Geteuid() {
			err = errOthers
		}
	}
	if err == nil {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// sweep removes the folders of relays that were killed: those that have the
// name of one, belong to the relay's user and are not locked any more.
func (p *Pool) sweep() {
	dir, err := os.Open(os.TempDir())
	if err != nil {
		return
	}
	defer dir.Close()
	swept := 0
	for seen := 0; seen < maxNames && swept < maxSwept && err == nil; {
		var names []string
		names, err = dir.Readdirnames(maxNames / 10)
		seen += len(names)
		for _, name := range names {
			if swept < maxSwept && !p.isClosed() && left(name) && sweepOne(filepath.Join(dir.Name(), name)) {
				swept++
			}
		}
	}
	if swept > 0 {
		p.log.Info("folders of dead relays removed", slog.Int("folders", swept))
	}
	if err != nil && err != io.EOF { // the error names the relay's folders
		p.log.Warn("folders of dead relays could not be looked for")
	}
}

// isClosed reports whether the pool is being closed.
func (p *Pool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// left reports whether name is that of a child's folder.
func left(name string) bool {
	pid, number, ok := strings.Cut(strings.TrimPrefix(name, folderPrefix), "-")
	return ok && strings.HasPrefix(name, folderPrefix) && digits(pid) && digits(number)
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// sweepOne removes a folder unless a relay that lives, or another user, has it.
func sweepOne(path string) bool {
	held, err := lock(path)
	if err != nil {
		return false
	}
	return (&folder{path, held}).remove() == nil
}
