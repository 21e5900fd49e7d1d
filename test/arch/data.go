package arch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Data is the tables beside the test.
type Data struct {
	Imports map[string][]string // imports.txt: package of shared -> words
	Limits  []Grant             // limits.txt: import path -> folders
	Uses    []Grant             // uses.txt: path.Name -> folders
	Values  map[string]bool     // vars.txt: path.Func
	Text    []*regexp.Regexp    // text.txt
}

// Grant gives the folders that may have something.
type Grant struct {
	What    string
	Folders []string
}

// allows reports whether dir is in one of the folders.
func (g Grant) allows(dir string) bool {
	for _, folder := range g.Folders {
		if under(dir, folder) {
			return true
		}
	}
	return under(dir, "test")
}

// ReadData reads the tables in dir.
func ReadData(dir string) (*Data, error) {
	d := &Data{Imports: map[string][]string{}, Values: map[string]bool{}}
	for name, take := range map[string]func(string) error{
		"imports.txt": func(row string) error {
			name, words, ok := strings.Cut(row, ":")
			if !ok {
				return fmt.Errorf("%q has no colon", row)
			}
			d.Imports[name] = strings.Fields(words)
			return nil
		},
		"limits.txt": func(row string) error { return grant(&d.Limits, row) },
		"uses.txt":   func(row string) error { return grant(&d.Uses, row) },
		"vars.txt": func(row string) error {
			d.Values[row] = true
			return nil
		},
		"text.txt": func(row string) error {
			pattern, err := regexp.Compile(row)
			d.Text = append(d.Text, pattern)
			return err
		},
	} {
		if err := readRows(filepath.Join(dir, name), take); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func grant(to *[]Grant, row string) error {
	words := strings.Fields(row)
	*to = append(*to, Grant{What: words[0], Folders: words[1:]})
	return nil
}

// readRows gives take every line that is neither empty nor a comment.
func readRows(name string, take func(string) error) error {
	content, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("reading a table: %w", err)
	}
	for line := range bytes.Lines(content) {
		row := strings.TrimSpace(string(line))
		if row == "" || strings.HasPrefix(row, "#") {
			continue
		}
		if err := take(row); err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
	}
	return nil
}
