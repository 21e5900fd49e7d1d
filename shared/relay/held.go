package relay

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"mcprelay/shared/catalog"
	"mcprelay/shared/registry"
	"mcprelay/shared/wire"
)

// Held is a tool whose description no operator has approved.
type Held struct {
	Tool     string // the upstream's own name
	Why      string // changed or new
	Digest   string // of all that is said of it now, in hex
	Approved string // the one that was approved; of that description nothing else is kept
	// Description is the text in it, for a terminal: printable, in one line and
	// at most [MaxShown] characters. Descriptor is all of it, as the server wrote it.
	Description string
	Descriptor  json.RawMessage
}

// Held lists the tools of a view whose descriptions are not the pinned ones,
// whether or not that holds them back.
func (v View) Held() []Held {
	if v.server.Pin == registry.PinOff {
		return nil
	}
	var held []Held
	for _, tool := range v.Catalog.Tools {
		if why, is := v.Catalog.Held(tool.Name); is {
			held = append(held, Held{
				Tool: tool.Name, Why: why, Digest: tool.Digest, Approved: v.Catalog.Pins[tool.Name],
				Description: description(tool), Descriptor: tool.Raw,
			})
		}
	}
	return held
}

// MaxShown bounds a description on a terminal, in characters: a screen of 80 by
// 24 holds 1,920.
const MaxShown = 1000

// description is what a tool says that it does, as a terminal can show it.
// Blanks in a row become one, so that none push the rest out of sight; what
// cannot be seen becomes its escape, since a model would read it; and what does
// not fit is counted.
func description(tool catalog.Tool) string {
	member, _ := wire.Member(tool.Raw, "description")
	var text string
	if json.Unmarshal(member, &text) != nil {
		return ""
	}
	var b strings.Builder
	shown, whole := 0, strings.Join(strings.Fields(text), " ")
	for at, r := range whole {
		if shown == MaxShown {
			fmt.Fprintf(&b, "… and %d bytes more", len(whole)-at)
			break
		}
		shown++
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
	}
	return b.String()
}
