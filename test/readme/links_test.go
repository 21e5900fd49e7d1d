package readme_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// link is a link to a file of the repository, with the section after it.
var link = regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)

// sections are the names by which the headings of a page are linked to.
func sections(text string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(text) {
		if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			plain := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			found[strings.ReplaceAll(plain, " ", "-")] = true
		}
	}
	return found
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are no pages: %v", err)
	}
	for _, page := range append(pages, path) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			target := filepath.Join(filepath.Dir(page), match[1])
			if match[1] == "" {
				target = page
			}
			linked, err := os.ReadFile(target)
			if err != nil {
				t.Errorf("%s: the link %s: %v", page, match[0], err)
				continue
			}
			if match[2] != "" && !sections(string(linked))[match[2]] {
				t.Errorf("%s: the link %s leads to no section", page, match[0])
			}
		}
	}
	all := readAll(t, path)
	for _, page := range pages {
		if !strings.Contains(all, "docs/"+filepath.Base(page)) {
			t.Errorf("the README does not lead to %s", page)
		}
	}
}

func readAll(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
