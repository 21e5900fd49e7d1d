package wire

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcprelay/shared/call"
)

// MaxInstructions bounds what [Opening] gives of a server's instructions, in
// bytes. Servers in the field have some hundreds; what is kept is stored beside
// the era of the server and told to every agent that opens it.
const MaxInstructions = 4 << 10

// Opening reads a result that opens a server, be it of initialize or of
// server/discover: which of its capabilities it announces, and what it wants a
// model to know, as plain text of at most [MaxInstructions] bytes, under mask
// before it is cut; nil masks nothing. Either is zero where the result does not
// say.
func Opening(result json.RawMessage, mask func(string) string) (call.Offers, string) {
	return offers(result), instructions(result, mask)
}

// offers reads the capabilities. One that is null is not announced.
func offers(result json.RawMessage) call.Offers {
	capabilities, ok := Member(result, "capabilities")
	if !ok || len(capabilities) == 0 || capabilities[0] != '{' {
		return 0
	}
	all := call.Announced
	for _, one := range []struct {
		name  string
		offer call.Offers
	}{
		{"tools", call.OffersTools}, {"resources", call.OffersResources}, {"prompts", call.OffersPrompts},
		{"completions", call.OffersCompletions}, {"logging", call.OffersLogging},
	} {
		if value, ok := Member(capabilities, one.name); ok && string(value) != "null" {
			all |= one.offer
		}
	}
	return all
}

// instructions reads the text; what is no string is none.
func instructions(result json.RawMessage, mask func(string) string) string {
	raw, ok := Member(result, "instructions")
	if !ok || len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	text := string(unquote(raw))
	if mask != nil {
		text = mask(text)
	}
	return legible(text)
}

// legible is text without what makes a reader see something else than a terminal
// shows: control characters but line end and tab, and characters that are
// invisible or turn the direction of others, but for the two that join letters.
// Its end is cut at a rune.
func legible(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == joiner, r == nonJoiner:
			return r
		case r == utf8.RuneError, unicode.In(r, unicode.Cc, unicode.Cf):
			return -1
		}
		return r
	}, text)
	end := min(len(text), MaxInstructions)
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// The zero-width joiner and non-joiner, without which some scripts and emoji
// are spelled wrongly.
const (
	joiner    = '\u200d'
	nonJoiner = '\u200c'
)
