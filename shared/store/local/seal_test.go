package local_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"mcprelay/shared/store/local"
)

func sealKey(t *testing.T, dir string) []byte {
	t.Helper()
	key, err := local.SealKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(key) != 32 || bytes.Equal(key, make([]byte, 32)) {
		t.Fatalf("got a key of %d bytes, want 32 random ones", len(key))
	}
	return key
}

func TestTheSealingKeyIsMadeOnceAndOursAlone(t *testing.T) {
	dir := t.TempDir()
	first := sealKey(t, dir)
	if !bytes.Equal(sealKey(t, dir), first) {
		t.Error("the key is another one the second time")
	}
	if bytes.Equal(sealKey(t, t.TempDir()), first) {
		t.Error("two folders have the same key")
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || files[0].Name() != "seal.key" {
		t.Fatalf("got files %v, %v, want seal.key alone", files, err)
	}
	if info, err := files[0].Info(); err != nil || info.Mode() != 0o600 {
		t.Errorf("got mode %v, %v, want 0600", info.Mode(), err)
	}
}

func TestProcessesThatStartTogetherHaveOneSealingKey(t *testing.T) {
	dir := t.TempDir()
	keys := make([][]byte, 16)
	var done sync.WaitGroup
	for i := range keys {
		done.Go(func() { keys[i], _ = local.SealKey(dir) })
	}
	done.Wait()
	for i, key := range keys {
		if len(key) != 32 || !bytes.Equal(key, keys[0]) {
			t.Errorf("%d: got %d bytes, want the key of the others", i, len(key))
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("got files %v, %v, want one", files, err)
	}
}

func TestASealingKeyThatOthersMayKnowIsRefused(t *testing.T) {
	whole := bytes.Repeat([]byte{7}, 32)
	write := func(t *testing.T, path string, content []byte, mode fs.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		chmod(t, path, mode)
	}
	for name, test := range map[string]struct {
		make func(t *testing.T, path string)
		want string
	}{
		"a link": {func(t *testing.T, path string) {
			write(t, path+".elsewhere", whole, 0o600)
			if err := os.Symlink(path+".elsewhere", path); err != nil {
				t.Fatal(err)
			}
		}, "symbolic link"},
		"a link to nothing": {func(t *testing.T, path string) {
			if err := os.Symlink(path+".elsewhere", path); err != nil {
				t.Fatal(err)
			}
		}, "symbolic link"},
		"a folder": {func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "not a file"},
		"a pipe": {func(t *testing.T, path string) {
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "not a file"},
		"read by the group": {func(t *testing.T, path string) { write(t, path, whole, 0o640) }, "read it"},
		"read by others":    {func(t *testing.T, path string) { write(t, path, whole, 0o604) }, "read it"},
		"written by others": {func(t *testing.T, path string) { write(t, path, whole, 0o602) }, "write it"},
		"empty":             {func(t *testing.T, path string) { write(t, path, nil, 0o600) }, "32 bytes"},
		"cut":               {func(t *testing.T, path string) { write(t, path, whole[:31], 0o600) }, "32 bytes"},
		"too long":          {func(t *testing.T, path string) { write(t, path, append(whole[:32:32], 7), 0o600) }, "32 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			test.make(t, filepath.Join(dir, "seal.key"))
			key, err := local.SealKey(dir)
			if err == nil || key != nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %d bytes, %v, want an error about %q", len(key), err, test.want)
			}
		})
	}
}

func TestAFolderThatOthersCanWriteHasNoSealingKey(t *testing.T) {
	dir := t.TempDir()
	chmod(t, dir, 0o777)
	if _, err := local.SealKey(dir); err == nil {
		t.Error("got no error")
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("got files %v, %v, want none", files, err)
	}
}
