package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// agree fails the test where the package and the oracle read text otherwise.
func agree(t *testing.T, text []byte) {
	t.Helper()
	request, refusal := wire.ReadRequest(text)
	wantRequest, wantRefusal := oracleReadRequest(text)
	if !sameRequest(wantRequest, request) || !sameRefusal(wantRefusal, refusal) {
		t.Fatalf("ReadRequest(%.400q): got %v, want %v (-oracle +package)\n%s", text, refusal, wantRefusal, cmp.Diff(wantRequest, request, cmp.AllowUnexported(wire.ID{})))
	}
	_, wantRefusal = oracleReadObject(text, nil)
	if refusal = wire.ReadObject(text); !sameRefusal(wantRefusal, refusal) {
		t.Fatalf("ReadObject(%.400q): got %v, want %v", text, refusal, wantRefusal)
	}
	reply, err := wire.ReadReply(text)
	wantReply, wantErr := oracleReadReply(text)
	if !sameReply(wantReply, reply) || !sameError(wantErr, err) {
		t.Fatalf("ReadReply(%.400q): got error %v, want %v (-oracle +package)\n%s", text, err, wantErr, cmp.Diff(wantReply, reply, cmp.AllowUnexported(wire.ID{})))
	}
}

// sameBytes tells nil from empty.
func sameBytes(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

func sameRequest(a, b wire.Request) bool {
	return a.ID == b.ID && a.Method == b.Method && sameBytes(a.Params, b.Params) && a.Name == b.Name && a.URI == b.URI && a.Cursor == b.Cursor &&
		sameBytes(a.Arguments, b.Arguments) && sameBytes(a.Meta, b.Meta) && a.ProtocolVersion == b.ProtocolVersion &&
		a.HasCapabilities == b.HasCapabilities && sameBytes(a.ProgressToken, b.ProgressToken) &&
		sameBytes(a.Capabilities, b.Capabilities) && a.LogLevel == b.LogLevel && a.Ref == b.Ref && sameBytes(a.Argument, b.Argument) &&
		sameBytes(a.Context, b.Context) && sameBytes(a.InputResponses, b.InputResponses) && a.RequestState == b.RequestState && a.HasState == b.HasState
}

func sameReply(a, b wire.Reply) bool {
	if (a.Error == nil) != (b.Error == nil) {
		return false
	}
	if a.Error != nil && (a.Error.Code != b.Error.Code || a.Error.Message != b.Error.Message || !sameBytes(a.Error.Data, b.Error.Data) || !sameBytes(a.Error.Raw, b.Error.Raw)) {
		return false
	}
	return a.ID == b.ID && sameBytes(a.Result, b.Result) && a.Method == b.Method && sameBytes(a.Params, b.Params) && a.ResultType == b.ResultType && a.IsError == b.IsError
}

func sameRefusal(a, b *call.Refusal) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Reason == b.Reason && sameError(a, b)
}

// sameError compares what errors say, where that is the fault that comes
// first in the text.
func sameError(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Error() == b.Error() || early(a.Error()) || early(b.Error())
}

// early reports whether an error tells of something that the package and the
// oracle do not look at in the same order when a text has several faults: the
// oracle looks at bounds when all else was right, and at the case of a name
// before its colon.
func early(text string) bool {
	return strings.HasSuffix(text, "nested deeper than 64") || strings.HasSuffix(text, "more than 10000 members") || strings.Contains(text, "case variant")
}

// messages are texts to begin with: whole ones of every kind, and broken ones.
func messages() []string {
	all := []string{
		typical, toolCall(""), completion(``), completion(`,"context":{"arguments":{"a":"b"}}`), resumed, toolCall(`,"arguments":{"a":[1,{"b":null}],"c":-0.5e+7}`), "\ufeff" + answer(`{}`), `[]`, ` [ 1 , {} ] `, `"x"`, `-1.5e3`, `tru`, ``, ` `,
		answer(`{"isError":true,"resultType":"task"}`), answer(`{"s":"\ud800","t":"\ud83d\ude00","\udfff":1}`),
		`{"jsonrpc":"2.0","id":1.0,"error":{"code":-1,"message":"m","data":[1]}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`,
		`{"id":"\u0069d","\u0069d":2}`, `{"a":{"b":1,"\u0062":2}}`, `{"":{"":{"":[[],{}]}},"a":"","b":{}}`,
		`{"long name number one":1,"long name number two":2,"long name number one":3}`, `{"abcdefgh":1,"abcdefg":2,"abcdefghi":3}`,
		`{"é":"ü","日本":"語","😀":"\u65e5"}`, `{"a\u0000":1,"a":2,"a\u0000\u0000":3}`, `{"n":[0,-0,10,1.0,1e5,1E-5,0.1e+1]}`,
		"\t{\r\n \"a\" :\t[ true , false , null ] }\n", `{"s":"\"\\\/\b\f\n\r\t\u00e9 and more than sixty-four bytes of text, so that the far look is taken as well as the near one"}`,
		`{"s":"` + strings.Repeat("é", 70) + strings.Repeat("語", 5) + `"}`, `{"Method":1,"params":{"Name":1},"re` + "ſ" + `ult":2}`,
	}
	var many strings.Builder
	for i := range 40 {
		fmt.Fprintf(&many, `,"member %d":{"m%d":%d}`, i, i, i)
	}
	return append(all, "{"+many.String()[1:]+"}", `{"a":`+nested(63)+`}`, `{"a":`+nested(64)+`}`)
}

// odd bytes and texts that change what a message means.
func odd() []string {
	return []string{
		`"`, `\`, "{", "}", "[", "]", ":", ",", "0", "1", "-", ".", "e", "E", "+", "u", "n", "t", "d", "D", "8", " ", "\n", "\x00", "\x1f", "\x7f", "\x80", "\xbf", "\xc0", "\xc3", "\xe0", "\xe4", "\xed", "\xf0", "\xf4", "\xff",
		`\u`, `\ud8`, `\ud800`, `\udc00`, `\ud83d\ud`, `\u0000`, `""`, `"a":1,`, "é", "\ufeff", "😀",
	}
}

func TestScannerAgreesWithTheOracleOnEveryMutation(t *testing.T) {
	for _, text := range messages() {
		agree(t, []byte(text))
		for i := 0; i < len(text); i += 1 + len(text)/70 {
			agree(t, []byte(text[:i]))
			agree(t, []byte(text[i:]))
			agree(t, []byte(text[:i]+text[i+1:]))
			agree(t, []byte(text[:i]+text[i:i+1]+text[i:]))
			agree(t, []byte(text[:i]+string([]byte{text[i] ^ 0x20})+text[i+1:]))
			agree(t, []byte(text[:i]+string([]byte{text[i] ^ 0x80})+text[i+1:]))
		}
		for i := 0; i < len(text); i += 1 + len(text)/16 {
			for _, other := range odd() {
				agree(t, []byte(text[:i]+other+text[i:]))
				agree(t, []byte(text[:i]+other+text[i+1:]))
			}
		}
	}
}

// A string is looked at in words and strides; what ends it may be at any place
// of one.
func TestScannerSeesEveryPlaceOfAString(t *testing.T) {
	lengths := []int{0, 1, 6, 7, 8, 9, 15, 16, 31, 63, 64, 65, 72, 73, 96, 128, 328, 329, 330, 1400}
	for _, size := range lengths {
		for at := 0; at <= size; at += 1 + at/6 {
			for _, other := range odd() {
				text := strings.Repeat("x", at) + other + strings.Repeat("y", size-at)
				agree(t, []byte(`{"a":"`+text+`"}`))
				agree(t, []byte(`{"a":"`+text))
			}
		}
	}
	for _, size := range []int{16 << 10, 40 << 10} {
		for _, other := range []string{`"`, `\`, "\x1f", "\x80", "é"} {
			agree(t, []byte(`{"a":"`+strings.Repeat("x", size)+other+`yyyyyyyy"}`))
		}
	}
}

// Every first and second byte of UTF-8, with good and bad ends, long before
// the end of the text and at it.
func TestScannerKnowsUTF8(t *testing.T) {
	for first := 0x80; first <= 0xff; first++ {
		for _, second := range []byte{0x22, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0} {
			for _, rest := range []string{"", "\x80", "\xbf\xbf", "\x80\x7f", "\xc0\x80", "\x80\x80\x80"} {
				text := string([]byte{byte(first), second}) + rest
				agree(t, []byte(`{"a":"`+text+`12345678"}`))
				agree(t, []byte(`{"a":"`+text))
			}
		}
	}
}

func TestNamesAreToldApart(t *testing.T) {
	// Names of every length that share their first bytes or their length,
	// spelled plainly and with escapes, in objects small and large.
	for _, count := range []int{2, 15, 16, 17, 18, 64, 65, 66, 300, 5000} {
		names := make([]string, count)
		for i := range names {
			names[i] = fmt.Sprintf(`"%s%d"`, strings.Repeat("x", i%11), i)
			if i%7 == 0 {
				names[i] = fmt.Sprintf(`"%s\u00%02d%d"`, strings.Repeat("x", i%11), 30+i%10, i/10)
			}
		}
		inside := func(names []string) string {
			return `{"a":[{"x":{"x":1},` + strings.Join(names, `:{"x":[],"y":{"x":1}},`) + `:1}],"b":{"a":1}}`
		}
		unique := map[string]bool{}
		for i, name := range names {
			var content string
			if err := json.Unmarshal([]byte(name), &content); err != nil || unique[content] {
				names[i] = fmt.Sprintf(`"only %d"`, i)
			}
			unique[content] = true
		}
		if refusal := wire.ReadObject([]byte(inside(names))); refusal != nil {
			t.Errorf("%d names: %v", count, refusal)
		}
		for _, i := range []int{0, count / 2, count - 1} {
			twice := append(append([]string{}, names...), strings.Replace(names[i], `"`, `"`, 1))
			text := []byte(inside(twice))
			refusal := wire.ReadObject(text)
			if want := fmt.Sprintf("bad_json: a name is repeated at byte %d", strings.LastIndex(string(text), names[i]+`:1}]`)); refusal == nil || refusal.Error() != want {
				t.Errorf("%d names, the one with number %d again: %v, want %s", count, i, refusal, want)
			}
		}
	}
}

// random is a JSON text, or nearly one, of a few hundred bytes.
func random(r *rand.Rand, depth int) string {
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	name := func() string {
		return `"` + pick("a", `\u0061`, "b", "", "id", `i\u0064`, "params", "name", "result", "_meta", "é", `\u00e9`, `\ud83d\ude00`, "😀", `\ud800`, "abcdefgh", "abcdefghi") + `"`
	}
	blank := pick("", "", "", " ", "\n\t")
	if depth == 0 || r.IntN(4) == 0 {
		return blank + pick("0", "-1.5", "1e9", "true", "null", `""`, `"x\n"`, `"日本"`, name(), "01", "nul", `"\x"`, `"`+strings.Repeat("long ", r.IntN(30))+`"`)
	}
	var parts []string
	for range r.IntN(5) {
		parts = append(parts, random(r, depth-1))
	}
	if r.IntN(3) == 0 {
		return blank + "[" + strings.Join(parts, ",") + blank + "]"
	}
	for i := range parts {
		parts[i] = name() + blank + ":" + parts[i]
	}
	return blank + "{" + strings.Join(parts, ",") + "}" + blank
}

func TestScannerAgreesWithTheOracleOnRandomTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 3_000 {
		text := random(r, 1+r.IntN(6))
		agree(t, []byte(text))
		agree(t, []byte(`{"jsonrpc":"2.0","id":1,"method":"x","params":`+text+`}`))
		agree(t, []byte(answer(text)))
	}
}

// FuzzScanner holds the scanner against the oracle.
func FuzzScanner(f *testing.F) {
	for _, text := range messages() {
		f.Add([]byte(text))
	}
	f.Fuzz(agree)
}
