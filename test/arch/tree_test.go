package arch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcprelay/test/arch"
)

// write makes a tree of files for one test.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoadLeavesOutWhatIsNotOurs(t *testing.T) {
	tree := load(t, write(t, map[string]string{
		"a/a.go":                "package a\n",
		"a/testdata/broken.go":  "not Go at all",
		"a/testdata/words.txt":  "words",
		".cache/x/x.go":         "package x\n",
		"node_modules/y/y.go":   "package y\n",
		"bin/z.go":              "package z\n",
		".github/ci.yml":        "on: push\n",
		".ci/run":               "#!/bin/sh\n",
		".git":                  "gitdir: ../a\n",
		"blob":                  "a\x00b",
		"test/arch/testdata/t":  "t",
		"other/arch/testdata/o": "o",
	}))
	if len(tree.Packages) != 1 || tree.Packages[0].Dir != "a" {
		t.Errorf("got %d packages, want a alone", len(tree.Packages))
	}
	for name, want := range map[string]bool{
		"a/a.go": true, "a/testdata/words.txt": true, "a/testdata/broken.go": true, ".github/ci.yml": true, ".ci/run": true, "other/arch/testdata/o": true,
		".cache/x/x.go": false, "node_modules/y/y.go": false, "bin/z.go": false, "blob": false, ".git": false, "test/arch/testdata/t": false,
	} {
		if _, got := tree.Texts[name]; got != want {
			t.Errorf("%s: read as text %v, want %v", name, got, want)
		}
	}
}

func TestLoadNamesAFileThatIsNoGo(t *testing.T) {
	_, err := arch.Load(write(t, map[string]string{"a/a.go": "package"}))
	if err == nil || !strings.Contains(err.Error(), "a/a.go") {
		t.Errorf("got %v, want an error that names a/a.go", err)
	}
}

func TestMeasure(t *testing.T) {
	got := arch.Measure(load(t, write(t, map[string]string{
		"shared/a/a.go":      "// Package a is here.\npackage a\n\nfunc f() {\n\t_ = 1\n}\n\nfunc g() {}\n",
		"shared/a/a_test.go": "package a\n\nfunc h() {}\n",
		"test/b/b.go":        "package b\n",
	})))
	want := arch.Numbers{MedianFile: 8, LongestFile: 8, MedianFunction: 3, P90Function: 3, Comments: 1.0 / 6, TestToCode: 3.0 / 6}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if text := got.String(); !strings.Contains(text, "median 8") || !strings.Contains(text, "comments 17 %") {
		t.Errorf("got %q, want the numbers in it", text)
	}
}

func TestMeasureOfNothing(t *testing.T) {
	if got := arch.Measure(load(t, t.TempDir())); got != (arch.Numbers{}) {
		t.Errorf("got %+v, want zeros", got)
	}
}

func TestReadDataNamesTheTableThatIsWrong(t *testing.T) {
	good := map[string]string{"imports.txt": "call:\n", "limits.txt": "", "uses.txt": "# none\n", "vars.txt": "", "text.txt": "x\n"}
	if _, err := arch.ReadData(write(t, good)); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"imports.txt": "call\n", "text.txt": "(\n"} {
		bad := map[string]string{}
		for k, v := range good {
			bad[k] = v
		}
		bad[name] = content
		if _, err := arch.ReadData(write(t, bad)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error that names %s", err, name)
		}
	}
	if _, err := arch.ReadData(t.TempDir()); err == nil {
		t.Error("want an error where the tables are missing")
	}
}
