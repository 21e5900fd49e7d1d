package wire_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/wire"
)

// reply fails the test when text breaks the protocol.
func reply(t *testing.T, text string) wire.Reply {
	t.Helper()
	r, err := wire.ReadReply([]byte(text))
	if err != nil {
		t.Fatalf("ReadReply(%.200s): %v", text, err)
	}
	return r
}

// answer is a response with the given result.
func answer(result string) string { return `{"jsonrpc":"2.0","id":1,"result":` + result + `}` }

func TestResultKeepsItsBytes(t *testing.T) {
	for _, result := range []string{
		`{}`, `{"content":[]}`, `{"structuredContent":{"n":9007199254740993,"f":1.0,"e":1e2,"m":-0}}`,
		`{"content":[{"type":"zzz","own":{"z":1,"a":2}}],"ttlMs":0,"_meta":{}}`,
		`{"text":"<&>\u003c\/","é":"é"}`, `{ "a" : [ 1 ] }`, `{"s":"\ud800"}`, `{"s":"cut \udfff here","\ud800":1}`,
	} {
		r := reply(t, answer(result))
		if string(r.Result) != result || r.Error != nil || r.Method != "" || string(r.ID.Raw()) != "1" {
			t.Errorf("result %s became %s (%+v)", result, r.Result, r)
		}
	}
}

func TestReplySaysWhatTheRelayMustKnow(t *testing.T) {
	for text, want := range map[string]wire.Reply{
		answer(`{"isError":true,"content":[]}`):         {IsError: true},
		answer(`{"isError":false}`):                     {},
		answer(`{"isError":null}`):                      {},
		answer(`{"resultType":"complete"}`):             {ResultType: "complete"},
		answer(`{"a":1,"resultType":"input_required"}`): {ResultType: "input_required"},
		answer(`{"resultType":"task","isError":true}`):  {ResultType: "task", IsError: true},
		answer(`{"content":[{"isError":true,"resultType":"zzz"}],"structuredContent":{"IsError":1}}`): {},
	} {
		got := reply(t, text)
		if got.IsError != want.IsError || got.ResultType != want.ResultType {
			t.Errorf("%s: IsError %v, ResultType %q", text, got.IsError, got.ResultType)
		}
	}
}

func TestErrorKeepsCodeMessageAndData(t *testing.T) {
	object := `{"code":-32050,"message":"no \"such\" thing","data":{"n":9007199254740993,"a":[1.0]},"own":1}`
	r := reply(t, `{"jsonrpc":"2.0","id":"x","error": `+object+` }`)
	want := &wire.RPCError{
		Code: -32050, Message: `no "such" thing`, Data: json.RawMessage(`{"n":9007199254740993,"a":[1.0]}`), Raw: json.RawMessage(object),
	}
	if diff := cmp.Diff(want, r.Error); diff != "" || r.Result != nil {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	if bare := reply(t, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}`); bare.Error == nil || bare.Error.Data != nil {
		t.Errorf("an error without data: %+v", bare.Error)
	}
}

func TestFieldLenienciesPass(t *testing.T) {
	for name, c := range map[string]struct{ text, id string }{
		"error null":            {`{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, `1`},
		"result null":           {`{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"m"}}`, `1`},
		"id null":               {`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID provided"}}`, ``},
		"no id":                 {`{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}`, ``},
		"id float":              {`{"jsonrpc":"2.0","id":1.0,"result":{}}`, `1.0`},
		"id string":             {`{"jsonrpc":"2.0","id":"1","result":{}}`, `"1"`},
		"code float":            {`{"jsonrpc":"2.0","id":1,"error":{"code":-32000.0,"message":"m"}}`, `1`},
		"byte order mark":       {"\ufeff" + answer(`{}`), `1`},
		"blanks":                {"\r\n\t " + answer(`{}`) + "\r\n", `1`},
		"unknown members":       {`{"jsonrpc":"2.0","id":1,"result":{},"time":3,"Server":"x"}`, `1`},
		"lone surrogate in key": {answer(`{"\udc00":1,"\ud83d\ude00":2}`), `1`},
	} {
		t.Run(name, func(t *testing.T) {
			r := reply(t, c.text)
			if string(r.ID.Raw()) != c.id {
				t.Errorf("id %s, want %s", r.ID.Raw(), c.id)
			}
			if (r.Result == nil) == (r.Error == nil) {
				t.Errorf("reply %+v", r)
			}
			if r.Error != nil && strings.Contains(c.text, "32000") && r.Error.Code != -32000 {
				t.Errorf("code %d", r.Error.Code)
			}
		})
	}
}

func TestServersOwnMessagesAreTold(t *testing.T) {
	for text, want := range map[string]wire.Reply{
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1.0}}`: {Method: "notifications/progress", Params: json.RawMessage(`{"progress":1.0}`)},
		`{"jsonrpc":"2.0","method":"notifications/x"}`:                                  {Method: "notifications/x"},
		`{"jsonrpc":"2.0","id":"srv-1","method":"ping"}`:                                {Method: "ping"},
		`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":[1]}`:           {Method: "elicitation/create", Params: json.RawMessage(`[1]`)},
	} {
		got := reply(t, text)
		if got.Method != want.Method || string(got.Params) != string(want.Params) || got.Result != nil || got.Error != nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
	if r := reply(t, `{"jsonrpc":"2.0","id":"srv-1","method":"ping"}`); string(r.ID.Raw()) != `"srv-1"` {
		t.Errorf("a server's request lost its id: %s", r.ID.Raw())
	}
}

func TestBrokenRepliesAreProtocolErrors(t *testing.T) {
	for name, text := range map[string]string{
		"empty":                      ``,
		"array of a response":        `[` + answer(`{}`) + `]`,
		"string":                     `"ok"`,
		"null":                       `null`,
		"html":                       `<html>login</html>`,
		"another protocol":           `{"Output":{},"Version":"1"}`,
		"cut":                        `{"jsonrpc":"2.0","id":1,"result":{"a":`,
		"two values":                 answer(`{}`) + answer(`{}`),
		"invalid UTF-8":              answer("{\"a\":\"\xff\"}"),
		"invalid UTF-8 after":        answer(`{}`) + "\xff",
		"two byte order marks":       "\ufeff\ufeff" + answer(`{}`),
		"duplicate result":           `{"jsonrpc":"2.0","id":1,"result":{},"result":{"a":1}}`,
		"duplicate id":               `{"jsonrpc":"2.0","id":1,"id":2,"result":{}}`,
		"duplicate inside":           answer(`{"content":[{"a":1,"a":2}]}`),
		"duplicate by surrogates":    answer(`{"\ud800":1,"\udfff":2}`),
		"depth":                      answer(`{"a":` + nested(wire.MaxDepth) + `}`),
		"members":                    answer(members(wire.MaxMembers + 1)),
		"result and error":           `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}`,
		"neither":                    `{"jsonrpc":"2.0","id":1}`,
		"both null":                  `{"jsonrpc":"2.0","id":1,"result":null,"error":null}`,
		"method and result":          `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`,
		"empty method":               `{"jsonrpc":"2.0","id":1,"method":""}`,
		"empty method, result":       `{"jsonrpc":"2.0","id":1,"method":"","result":{}}`,
		"method number":              `{"jsonrpc":"2.0","id":1,"method":1}`,
		"result array":               answer(`[]`),
		"result string":              answer(`"ok"`),
		"result true":                answer(`true`),
		"error string":               `{"jsonrpc":"2.0","id":1,"error":"bad"}`,
		"result and error string":    `{"jsonrpc":"2.0","id":1,"result":{},"error":"bad"}`,
		"result and error false":     `{"jsonrpc":"2.0","id":1,"error":false,"result":{}}`,
		"result array and error":     `{"jsonrpc":"2.0","id":1,"result":[],"error":{"code":1,"message":"m"}}`,
		"error without code":         `{"jsonrpc":"2.0","id":1,"error":{"message":"m"}}`,
		"error without message":      `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`,
		"error code string":          `{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"m"}}`,
		"error code fraction":        `{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"m"}}`,
		"error code huge":            `{"jsonrpc":"2.0","id":1,"error":{"code":99999999999999999999,"message":"m"}}`,
		"error message null":         `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":null}}`,
		"no jsonrpc":                 `{"id":1,"result":{}}`,
		"jsonrpc 1.0":                `{"jsonrpc":"1.0","id":1,"result":{}}`,
		"jsonrpc number":             `{"jsonrpc":2.0,"id":1,"result":{}}`,
		"id true":                    `{"jsonrpc":"2.0","id":true,"result":{}}`,
		"id object":                  `{"jsonrpc":"2.0","id":{},"result":{}}`,
		"id array":                   `{"jsonrpc":"2.0","id":[1],"result":{}}`,
		"unknown resultType":         answer(`{"resultType":"later"}`),
		"resultType in another case": answer(`{"resultType":"Complete"}`),
		"resultType number":          answer(`{"resultType":1}`),
		"isError string":             answer(`{"isError":"true"}`),
		"isError number":             answer(`{"isError":1}`),
		"Result":                     `{"jsonrpc":"2.0","id":1,"result":{},"Result":{}}`,
		"reſult":                     `{"jsonrpc":"2.0","id":1,"result":{},"re` + "ſ" + `ult":{"a":1}}`,
		"Error":                      `{"jsonrpc":"2.0","id":1,"result":{},"Error":{}}`,
		"ID":                         `{"jsonrpc":"2.0","id":1,"ID":2,"result":{}}`,
		"IsError":                    answer(`{"isError":false,"IsError":true}`),
		"ResultType":                 answer(`{"ResultType":"task"}`),
	} {
		t.Run(name, func(t *testing.T) {
			r, err := wire.ReadReply([]byte(text))
			if !errors.Is(err, wire.ErrProtocol) {
				t.Fatalf("error %v, want ErrProtocol", err)
			}
			if diff := cmp.Diff(wire.Reply{}, r, cmp.AllowUnexported(wire.ID{})); diff != "" {
				t.Errorf("parts beside the error:\n%s", diff)
			}
		})
	}
}

func TestProtocolErrorsQuoteNothing(t *testing.T) {
	for _, text := range []string{
		`<html>confidential</html>`, answer(`{"confidential":1,"confidential":2}`), answer(`{"resultType":"confidential"}`),
		`{"jsonrpc":"confidential","id":1,"result":{}}`, answer(`{"a":"confidential`),
	} {
		if _, err := wire.ReadReply([]byte(text)); err == nil || strings.Contains(err.Error(), "confidential") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestLargeReplyIsTheCallersToBound(t *testing.T) {
	result := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 4<<20) + `"}]}`
	if r := reply(t, answer(result)); len(r.Result) != len(result) {
		t.Errorf("result of %d bytes became %d", len(result), len(r.Result))
	}
}

func TestIDsSpellEachOther(t *testing.T) {
	// id reads an id the way a peer's reply gives it.
	id := func(raw string) wire.ID { return reply(t, `{"jsonrpc":"2.0","id":`+raw+`,"result":{}}`).ID }
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1`, true}, {`1`, `"1"`, true}, {`"1"`, `1`, true}, {`1`, `1.0`, true}, {`"1"`, `1.00`, true},
		{`"a"`, `"\u0061"`, true}, {`"a/b"`, `"a\/b"`, true}, {`9007199254740993`, `"9007199254740993"`, true},
		{`1`, `2`, false}, {`1`, `"01"`, false}, {`1`, `" 1"`, false}, {`1`, `"1.0"`, false}, {`1`, `1.5`, false}, {`10`, `1`, false},
		{`9007199254740993`, `9007199254740992`, false}, {`"a"`, `"A"`, false}, {`""`, `""`, true}, {`""`, `0`, false},
		{`null`, `null`, false}, {`null`, `""`, false}, {`null`, `0`, false},
	} {
		if got := id(c.a).Spells(id(c.b)); got != c.want {
			t.Errorf("%s spells %s: %v, want %v", c.a, c.b, got, c.want)
		}
	}
	if n := wire.NumberID(-42); string(n.Raw()) != "-42" || n.IsZero() || !n.Spells(id(`"-42"`)) {
		t.Errorf("NumberID(-42) = %s", n.Raw())
	}
	if (wire.ID{}).Raw() != nil || !(wire.ID{}).IsZero() {
		t.Error("the zero id is something")
	}
}

// FuzzReadReply checks that what is read is what encoding/json sees, and that
// every refusal is a protocol error.
func FuzzReadReply(f *testing.F) {
	for _, text := range []string{
		answer(`{"isError":true,"resultType":"task"}`), answer(`{"s":"\ud800"}`), `{"jsonrpc":"2.0","id":1.0,"error":{"code":-1,"message":"m","data":[1]}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`, "\ufeff" + answer(`{}`), `[]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := string(data)
		r, err := wire.ReadReply(data)
		if string(data) != before {
			t.Fatal("the reply was changed")
		}
		if err != nil {
			if !errors.Is(err, wire.ErrProtocol) {
				t.Fatalf("error %v", err)
			}
			return
		}
		var plain struct {
			Result json.RawMessage
			Method string
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(before, "\ufeff")), &plain); err != nil {
			t.Fatalf("encoding/json refuses %q: %v", data, err)
		}
		if string(plain.Result) == "null" {
			plain.Result = nil
		}
		if string(plain.Result) != string(r.Result) || r.Error == nil && r.Result == nil && r.Method == "" {
			t.Fatalf("another reader sees %s, this one %s", plain.Result, r.Result)
		}
	})
}
