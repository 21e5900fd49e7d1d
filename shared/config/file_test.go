package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mcprelay/shared/config"
)

// write puts a usable file into a new directory.
func write(t *testing.T, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "relay.json")
	if err := os.WriteFile(path, text(t, one(entry("docs"))), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// refused wants an error that names the path and ends in reason.
func refused(t *testing.T, path, reason string) {
	t.Helper()
	_, err := config.Load(path, config.Options{})
	var problem *config.Error
	if !errors.As(err, &problem) || err.Error() != path+": "+reason {
		t.Errorf("got %v, want %s: %s", err, path, reason)
	}
}

func TestFilesOfTheirOwnerAreRead(t *testing.T) {
	for _, mode := range []os.FileMode{0o600, 0o400, 0o644, 0o640, 0o755} {
		if c, err := config.Load(write(t, mode), config.Options{}); err != nil || c.Tenant.Servers["docs"] == nil {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

func TestFilesThatOthersCanWriteAreRefused(t *testing.T) {
	refused(t, write(t, 0o620), "its mode 0620 lets group or others write it; chmod go-w")
	refused(t, write(t, 0o602), "its mode 0602 lets group or others write it; chmod go-w")
	refused(t, write(t, 0o666), "its mode 0666 lets group or others write it; chmod go-w")
}

// Only the superuser can give a file away, so the reader is somebody else
// where the test is not run by one.
func TestFilesOfAnotherUserAreRefused(t *testing.T) {
	path, owner := write(t, 0o600), os.Geteuid()
	if owner == 0 {
		if _, err := config.ReadFile(path, 4242); err != nil {
			t.Errorf("the superuser's file: %v", err)
		}
		owner = 4243
		if err := os.Chown(path, owner, -1); err != nil {
			t.Fatal(err)
		}
		refused(t, path, "it belongs to another user; chown it to the user of the relay, or to root")
	}
	if _, err := config.ReadFile(path, owner); err != nil {
		t.Errorf("one's own file: %v", err)
	}
	if _, err := config.ReadFile(path, owner+1); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("another user's file: got %v", err)
	}
}

func TestLinksAreRefused(t *testing.T) {
	path := write(t, 0o600)
	link := filepath.Join(t.TempDir(), "link.json")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	refused(t, link, "it is a symbolic link; name the file itself")
	dangling := filepath.Join(t.TempDir(), "dangling.json")
	if err := os.Symlink(filepath.Join(t.TempDir(), "nothing"), dangling); err != nil {
		t.Fatal(err)
	}
	refused(t, dangling, "it is a symbolic link; name the file itself")
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	refused(t, t.TempDir(), "it is not a regular file")
	refused(t, "/dev/null", "it is not a regular file")
	refused(t, filepath.Join(t.TempDir(), "none.json"), "no such file or directory")
	refused(t, "", "no such file or directory")
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, pipe, "it is not a regular file")
}

func TestLargeFilesAreRefused(t *testing.T) {
	path := write(t, 0o600)
	pad := func(size int) {
		b := text(t, one(entry("docs")))
		if err := os.WriteFile(path, append(b, strings.Repeat(" ", size-len(b))...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pad(config.MaxFile)
	if _, err := config.Load(path, config.Options{}); err != nil {
		t.Errorf("%d bytes: %v", config.MaxFile, err)
	}
	pad(config.MaxFile + 1)
	refused(t, path, "it is larger than 4194304 bytes")
}

func TestProblemsOfAFileNameIt(t *testing.T) {
	path := write(t, 0o600)
	if err := os.WriteFile(path, []byte(`{"tenant":"acme","nope":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, path, "nope: it is not a known field")
}
