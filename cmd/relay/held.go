package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"

	"mcprelay/shared/relay"
)

// heldTool is a tool whose description nobody approved. Of the description that
// was approved only the digest is kept.
type heldTool struct {
	Tool        string          `json:"tool"`
	Why         string          `json:"why"`
	Digest      string          `json:"digest"`
	Approved    string          `json:"approved_digest,omitempty"`
	Description string          `json:"description"`
	Descriptor  json.RawMessage `json:"descriptor"`
}

// shownDigits are the digits of a digest that a person is shown: enough to tell
// two apart by eye. The commands to copy have all of them, since a server that
// means harm can make two descriptions that share these.
const shownDigits = 12

func short(digest string) string { return digest[:min(len(digest), shownDigits)] }

// printHeld shows what an approval would approve, and how to give it.
func printHeld(w io.Writer, s status) {
	for _, held := range s.Held {
		fmt.Fprintf(w, "\n%s: tool %s is %s, digest %s\n", s.Server, plain(held.Tool), held.Why, short(held.Digest))
		fmt.Fprintf(w, "  now:      %s\n", held.says())
		fmt.Fprintf(w, "  approved: %s\n", held.before())
		if word, ok := shellWord(held.Tool + "@" + held.Digest); ok {
			fmt.Fprintf(w, "  relay servers approve %s %s\n", s.Server, word)
		}
	}
	if len(s.Held) > 0 {
		fmt.Fprintf(w, "\n%s: all of them: relay servers approve %s @%s\n", s.Server, s.Server, s.Digest)
		fmt.Fprintf(w, "%s: a digest is of the schemas too: --json shows them\n", s.Server)
	}
}

func (h heldTool) says() string {
	if h.Description == "" {
		return "(no description)"
	}
	return h.Description
}

func (h heldTool) before() string {
	if h.Approved == "" {
		return "nothing"
	}
	return "digest " + short(h.Approved) + " (its text is not kept)"
}

// shellWord is a text as a shell takes it. A name that a terminal cannot show,
// or that would be a flag, is not offered for copying.
func shellWord(s string) (string, bool) {
	if plain(s) != s || strings.HasPrefix(s, "-") {
		return "", false
	}
	safe := func(r rune) bool {
		return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./:@", r))
	}
	if !strings.ContainsFunc(s, func(r rune) bool { return !safe(r) }) {
		return s, true
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'", true
}

// printJSON prints one object a line. What a terminal would act on is escaped:
// a descriptor is what the server wrote.
func printJSON(w io.Writer, all []status) error {
	for _, s := range all {
		line, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s\n", printableJSON(line)); err != nil {
			return err
		}
	}
	return nil
}

// printableJSON escapes what cannot be printed. Outside of its texts JSON holds
// nothing that could not.
func printableJSON(text []byte) string {
	var b strings.Builder
	for _, r := range string(text) {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// heldOf is what the relay holds back of a server.
func heldOf(view relay.View) []heldTool {
	var all []heldTool
	for _, held := range view.Held() {
		all = append(all, heldTool(held))
	}
	return all
}
