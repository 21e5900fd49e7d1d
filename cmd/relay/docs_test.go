package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"mcprelay/shared/relay"
)

// block is one fenced block of a page: what stands behind the fence, and the text.
type block struct{ info, text string }

func blocks(t *testing.T, path string) []block {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []block
	for _, found := range regexp.MustCompile("(?ms)^```(\\S[^\n]*)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		all = append(all, block{found[1], found[2]})
	}
	return all
}

// argumentsOf splits a command as a shell does that is given quotes of one kind.
func argumentsOf(line string) (all []string) {
	for _, found := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		all = append(all, found[1]+found[2])
	}
	return all
}

// said is what the command prints, and whether it failed.
func said(args ...string) (string, bool) {
	var out bytes.Buffer
	command := root()
	command.SetOut(&out)
	command.SetErr(&out)
	command.SetArgs(args)
	err := command.Execute()
	if err != nil {
		out.WriteString("relay: " + err.Error() + "\n")
	}
	return out.String(), err != nil
}

func TestEveryCommandOfThePageAboutPoliciesDoesWhatItSays(t *testing.T) {
	all := blocks(t, "../../docs/policies.md")
	t.Chdir(t.TempDir())
	ran, questions := 0, 0
	for _, b := range all {
		language, rest, _ := strings.Cut(b.info, " ")
		name, isFile := strings.CutPrefix(rest, "file=")
		switch {
		case isFile:
			if err := os.WriteFile(name, []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
		case language == "console":
			line, want, _ := strings.Cut(b.text, "\n")
			args, ok := strings.CutPrefix(line, "$ relay ")
			if !ok {
				t.Fatalf("%s is no command", line)
			}
			got, failed := said(argumentsOf(args)...)
			if got != want || failed != (rest == "fails") {
				t.Errorf("%s\ngot, failed %t:\n%s\nwant:\n%s", line, failed, got, want)
			}
			ran++
		case rest == "question":
			if _, refusal := relay.ReadQuestion([]byte(b.text)); refusal != nil {
				t.Error(refusal)
			}
			questions++
		default:
			t.Errorf("nobody knows what a block %q is", b.info)
		}
	}
	if ran < 6 || questions != 1 {
		t.Errorf("%d commands and %d questions were tried", ran, questions)
	}
}
