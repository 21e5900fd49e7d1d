package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

func TestOpeningSaysWhatTheServerAnnounced(t *testing.T) {
	for text, want := range map[string]call.Offers{
		``:                              0,
		`{}`:                            0,
		`{"capabilities":null}`:         0,
		`{"capabilities":[]}`:           0,
		`{"capabilities":"tools"}`:      0,
		`{"capabilities":{}}`:           call.Announced,
		`{"capabilities":{"tools":{}}}`: call.Announced | call.OffersTools,
		`{"capabilities":{"tools":null,"prompts":null,"roots":{}}}`:                                           call.Announced,
		`{"capabilities":{"resources":1.0,"Prompts":{}}}`:                                                     call.Announced | call.OffersResources,
		`{"capabilities":{"completions":{},"logging":{},"prompts":{"listChanged":true},"resource\u0073":{}}}`: call.Announced | call.OffersCompletions | call.OffersLogging | call.OffersPrompts | call.OffersResources,
	} {
		if got, _ := wire.Opening(json.RawMessage(text), nil); got != want {
			t.Errorf("%s: got %b, want %b", text, got, want)
		}
	}
}

func TestInstructionsArePlainAndBounded(t *testing.T) {
	long := strings.Repeat("x", wire.MaxInstructions)
	for text, want := range map[string]string{
		`"Ask <first> & \"then\" go."`:                 `Ask <first> & "then" go.`,
		`"a\n\tb"`:                                     "a\n\tb",
		`"a\r\n\u0000\u001b[31mb\u007f\u0085c"`:        "a\n[31mbc",
		`"\u202eevil\u2066 \ufeff"`:                    "evil ",
		`"x\udb40\udc41y"`:                             "xy", // a letter that nobody sees
		`"\u0645\u06cc\u200c\u062e"`:                   "\u0645\u06cc\u200c\u062e",
		`"👩\u200d💻"`:                                   "👩\u200d💻",
		`"lone \ud800."`:                               "lone .",
		`"` + long + `more"`:                           long,
		`"x` + long[:len(long)-3] + `é🙂"`:              "x" + long[:len(long)-3] + "é",
		`"xx` + long[:len(long)-3] + `é"`:              "xx" + long[:len(long)-3],
		`"` + strings.Repeat(`\u0000`, 5000) + `seen"`: "seen",
		`""`:      "",
		`null`:    "",
		`7`:       "",
		`{"a":1}`: "",
	} {
		_, got := wire.Opening(json.RawMessage(`{"capabilities":{},"instructions":`+text+`}`), nil)
		if got != want {
			t.Errorf("%.60s: got %.60q (%d bytes), want %.60q (%d)", text, got, len(got), want, len(want))
		}
	}
	if _, got := wire.Opening(json.RawMessage(`{"capabilities":{}}`), nil); got != "" {
		t.Errorf("got %q of nothing", got)
	}
}

// FuzzOpening: whatever opens a server, what is kept of its words is bounded
// text that hides nothing.
func FuzzOpening(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"tools":{}},"instructions":"a\u001b\ud83d\ude42"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		reply, err := wire.ReadReply([]byte(text))
		if err != nil || reply.Result == nil {
			return
		}
		offers, got := wire.Opening(reply.Result, nil)
		if offers != 0 && !offers.Has(call.Announced) {
			t.Errorf("offers %b of a server that announced nothing", offers)
		}
		if len(got) > wire.MaxInstructions || !utf8.ValidString(got) {
			t.Errorf("%d bytes, valid %t", len(got), utf8.ValidString(got))
		}
		for _, r := range got {
			if unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t' || r >= 0xE0000 && r <= 0xE007F {
				t.Errorf("%U is left", r)
			}
		}
	})
}
