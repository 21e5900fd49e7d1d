package wire_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// read fails the test when body is refused.
func read(t *testing.T, body string) wire.Request {
	t.Helper()
	r, refusal := wire.ReadRequest([]byte(body))
	if refusal != nil {
		t.Fatalf("ReadRequest(%s) refused: %v", body, refusal)
	}
	return r
}

// refused is the reason for which body is refused, "" when it is read.
func refused(t *testing.T, body string) (call.Reason, wire.Request) {
	t.Helper()
	r, refusal := wire.ReadRequest([]byte(body))
	if refusal == nil {
		return "", r
	}
	if r.Method != "" || r.Params != nil || r.Name != "" || r.Arguments != nil {
		t.Errorf("ReadRequest(%.200s) gave parts beside %v", body, refusal)
	}
	return refusal.Reason, r
}

// toolCall is a tools/call with the given text after its name.
func toolCall(rest string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"` + rest + `}}`
}

func TestRequestHoldsWhatPolicyAndExchangeNeed(t *testing.T) {
	r := read(t, `{"jsonrpc":"2.0","id":"a-1","method":"tools/call","params":{"name":"execute_sql","cursor":"c","uri":"file:///x",`+
		`"arguments":{"q":"SELECT 1"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":7,`+
		`"io.modelcontextprotocol/clientCapabilities":{},"com.example/own":[1]}}}`)
	got := []any{
		string(r.ID.Raw()), r.Method, r.Name, r.URI, r.Cursor, string(r.Arguments), r.ProtocolVersion,
		r.HasCapabilities, string(r.ProgressToken), r.Modern(), r.Notification(),
	}
	want := []any{`"a-1"`, "tools/call", "execute_sql", "file:///x", "c", `{"q":"SELECT 1"}`, "2026-07-28", true, "7", true, false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(string(r.Meta), `{"io.modelcontextprotocol/protocolVersion"`) || !strings.HasSuffix(string(r.Meta), `[1]}`) {
		t.Errorf("Meta = %s", r.Meta)
	}
	if !strings.HasPrefix(string(r.Params), `{"name":"execute_sql"`) || !strings.HasSuffix(string(r.Params), `[1]}}`) {
		t.Errorf("Params = %s", r.Params)
	}
}

func TestAbsentPartsAreNil(t *testing.T) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"name":null,"uri":null,"cursor":null,"arguments":null,"_meta":null}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":null,"io.modelcontextprotocol/clientCapabilities":null,"io.modelcontextprotocol/protocolVersion":null}}}`,
	} {
		r := read(t, body)
		if r.Arguments != nil || r.ProgressToken != nil || r.Name != "" || r.URI != "" || r.Cursor != "" || r.HasCapabilities || r.Modern() {
			t.Errorf("%s: %+v", body, r)
		}
	}
	if r := read(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); r.Params != nil || r.Meta != nil {
		t.Errorf("Params = %s, Meta = %s, want nil", r.Params, r.Meta)
	}
}

func TestArgumentsKeepTheirBytes(t *testing.T) {
	for _, arguments := range []string{
		`{"n":9007199254740993}`, `{"n":9223372036854775807,"m":-9223372036854775809}`,
		`{"n":1.0}`, `{"n":1e2,"m":1E+2,"o":0.1e-7,"p":-0}`,
		`{"z":1,"a":2,"m":3}`, `{"html":"<&>\u2028"}`, `{"html":"\u003c\u0026\u003e"}`,
		`{ "blanks" :	[ 1 , 2 ]
 }`, `{}`, `{"deep":{"name":"inner","Name":"Inner","NAME":1}}`,
		`{"escaped\u006eame":"\/\b\f\n\r\t\"\\","é":"é","😀":"\ud83d\ude00"}`,
		`{"":""}`, `{"s":"{[,:]}\\\"}"}`,
	} {
		for _, body := range []string{
			toolCall(`,"arguments":` + arguments),
			`{"method":"tools/call","params":{"arguments": ` + arguments + ` ,"name":"echo"},"jsonrpc":"2.0","id":1}`,
		} {
			if got := read(t, body); string(got.Arguments) != arguments {
				t.Errorf("arguments %s became %s", arguments, got.Arguments)
			}
		}
		got, refusal := wire.ReadArguments([]byte(`{"arguments":` + arguments + `}`))
		if refusal != nil || string(got) != arguments {
			t.Errorf("plain arguments %s became %s, %v", arguments, got, refusal)
		}
	}
}

func TestIDsAreEchoedByteExact(t *testing.T) {
	for _, id := range []string{
		`"abc"`, `"1"`, `1`, `0`, `-1`, `9007199254740993`, `123456789012345678901234567890`, `""`,
		`"\u0061\/"`, `"é😀"`, `-0`, `"` + strings.Repeat("x", wire.MaxID-2) + `"`,
	} {
		for _, body := range []string{
			`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`,
			`{"method":"ping","jsonrpc":"2.0","id" : ` + id + ` }`,
		} {
			r := read(t, body)
			if r.Notification() || string(r.ID.Raw()) != id {
				t.Errorf("id %.40s became %.40s", id, r.ID.Raw())
			}
		}
	}
}

func TestOtherIDsAreRefused(t *testing.T) {
	for _, id := range []string{`null`, `1.5`, `1.0`, `1e2`, `1E2`, `true`, `false`, `{}`, `[]`, `[1]`, `"` + strings.Repeat("x", wire.MaxID-1) + `"`} {
		reason, r := refused(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`)
		if reason != call.BadRequest || !r.ID.IsZero() {
			t.Errorf("id %.20s: %q with id %s, want bad_request with none", id, reason, r.ID.Raw())
		}
	}
}

func TestMessageWithoutIDIsANotification(t *testing.T) {
	r := read(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if !r.Notification() || r.ID.Raw() != nil {
		t.Errorf("request %+v", r)
	}
}

func TestUnknownMembersPass(t *testing.T) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + strings.Repeat("n", 4096) + `"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"` + strings.Repeat("u", 3*4096+128) + `"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"` + strings.Repeat("u", 3*4096+128) + `"},"argument":{"name":"a","value":""}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x/y","extension":{"Method":1},"":null}`,
		toolCall(`,"extra":1,"names":[],"meta":{}`),
		toolCall(`,"_meta":{"com.example/Token":1,"X":{}}`),
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"n"},"argument":{"name":"a","value":""}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
	} {
		read(t, body)
	}
}

func TestRefusalKeepsTheIDThatCouldBeRead(t *testing.T) {
	for body, want := range map[string]string{
		`{"jsonrpc":"1.0","id":7,"method":"ping"}`:                                               `7`,
		`{"jsonrpc":"2.0","method":"ping","params":[],"id":"later"}`:                             `"later"`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a","Name":"b"},"id":8}`:        `8`,
		`{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":1,"a":2}}`:                        `9`,
		`{"jsonrpc":"2.0","id":9,"method":"ping"`:                                                `9`,
		`{"jsonrpc":"2.0","method":"ping","params":{"a":1,"a":2},"id":9}`:                        ``,
		`{"jsonrpc":"2.0","id":1,"method":"ping","id":2}`:                                        ``,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`:                                             ``,
		`{"jsonrpc":"2.0","params":{"_meta":{"id":5}},"method":1}`:                               ``,
		`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"arguments":{"id":3,"id":"4"}}`: `9`,
	} {
		reason, r := refused(t, body)
		if reason == "" || string(r.ID.Raw()) != want {
			t.Errorf("%s: reason %q, id %s, want id %s", body, reason, r.ID.Raw(), want)
		}
	}
}

func TestRefusalQuotesNothingOfTheBody(t *testing.T) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping","confidential":1,"confidential":2}`,
		toolCall(`,"arguments":{"a":"confidential`),
		toolCall(`,"arguments":{"confidential":confidential}`),
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"name":["confidential"]}}`,
	} {
		_, refusal := wire.ReadRequest([]byte(body))
		if refusal == nil || strings.Contains(refusal.Error(), "confidential") {
			t.Errorf("%s: %v", body, refusal)
		}
	}
	for body, want := range map[string]string{
		`{"a":1,"a":2}`:                       "bad_json: a name is repeated at byte 7",
		`{"a":1,b":2}`:                        "bad_json: not strict JSON at byte 7",
		`{"a":1,`:                             "bad_json: the text ends early",
		` `:                                   "bad_json: the text ends early",
		`{} {}`:                               "bad_json: data after the end of the value",
		`{"a":` + nested(wire.MaxDepth) + `}`: "bad_json: nested deeper than 64",
		members(wire.MaxMembers + 1):          "bad_json: an object has more than 10000 members",
	} {
		if _, refusal := wire.ReadRequest([]byte(body)); refusal == nil || refusal.Error() != want {
			t.Errorf("%.40s: got %v, want %s", body, refusal, want)
		}
	}
}

func TestRequestIsASliceOfTheBodyAndLeavesItAlone(t *testing.T) {
	body := []byte(toolCall(`,"arguments":{"a":[1,{"b":"c"}]}`))
	before := string(body)
	r, refusal := wire.ReadRequest(body)
	if refusal != nil || string(body) != before {
		t.Fatalf("body became %s, %v", body, refusal)
	}
	if grown := append(r.Arguments, "XXXX"...); string(body) != before {
		t.Errorf("appending to the arguments wrote into the body: %s, %s", body, grown)
	}
	body[strings.Index(before, `"c"`)+1] = 'd'
	if string(r.Arguments) != `{"a":[1,{"b":"d"}]}` {
		t.Errorf("the arguments are a copy: %s", r.Arguments)
	}
}

func TestReadersAreFreshEveryTime(t *testing.T) {
	for range 50 {
		refused(t, toolCall(`,"arguments":{"a":[{"b":1`))
		refused(t, toolCall(`,"arguments":{"a":1,"a":2}`))
		r := read(t, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		if r.Params != nil || r.Name != "" || string(r.ID.Raw()) != "2" {
			t.Fatalf("a reader remembers: %+v", r)
		}
	}
}

func TestReadObjectIsAsStrict(t *testing.T) {
	for body, want := range map[string]call.Reason{
		`{}`: "", ` {"a":[1,{"b":null}]} `: "", `{"Name":1,"name":2}`: "",
		``: call.BadJSON, `{"a":1,"a":1}`: call.BadJSON, `{"a":{"b":1,"\u0062":1}}`: call.BadJSON, `{}{}`: call.BadJSON, "{\"a\":\"\xff\"}": call.BadJSON,
		`{"a":` + nested(64) + `}`: call.BadJSON, `{"a":` + nested(63) + `}`: "",
		`[]`: call.BadRequest, `"{}"`: call.BadRequest, `null`: call.BadRequest, `7`: call.BadRequest,
		strings.Repeat(" ", wire.MaxBody-2) + `{}`: "", strings.Repeat(" ", wire.MaxBody-1) + `{}`: call.TooLarge,
	} {
		var got call.Reason
		if refusal := wire.ReadObject([]byte(body)); refusal != nil {
			got = refusal.Reason
		}
		if got != want {
			t.Errorf("ReadObject(%.40s) = %q, want %q", body, got, want)
		}
	}
}

func TestPlainBodyHoldsArgumentsOnly(t *testing.T) {
	for body, want := range map[string]string{
		`{"arguments":{"a":1}}`: `{"a":1}`, `{}`: ``, `{"arguments":null}`: ``, ` { "arguments" : {} } `: `{}`,
	} {
		got, refusal := wire.ReadArguments([]byte(body))
		if refusal != nil || string(got) != want || want == "" && got != nil {
			t.Errorf("%s: %s, %v, want %s", body, got, refusal, want)
		}
	}
	for body, want := range map[string]call.Reason{
		``: call.BadJSON, `{"arguments":{}`: call.BadJSON, `{"arguments":{},"arguments":{}}`: call.BadJSON, `{"arguments":{"a":1,"a":2}}`: call.BadJSON,
		`[]`: call.BadRequest, `{"Arguments":{}}`: call.BadRequest, `{"argument":{}}`: call.BadRequest, `{"arguments":{},"_meta":{}}`: call.BadRequest,
		`{"arguments":[]}`: call.BadParams, `{"arguments":"{}"}`: call.BadParams,
	} {
		got, refusal := wire.ReadArguments([]byte(body))
		if refusal == nil || refusal.Reason != want {
			t.Errorf("%s: %s, %v, want %q", body, got, refusal, want)
		}
	}
}

func TestRequestsCanBeReadAtOnce(t *testing.T) {
	done := make(chan error)
	for i := range 8 {
		go func() {
			arguments := fmt.Sprintf(`{"worker":%d}`, i)
			for range 200 {
				r, refusal := wire.ReadRequest([]byte(toolCall(`,"arguments":` + arguments)))
				if refusal != nil || string(r.Arguments) != arguments {
					done <- fmt.Errorf("worker %d got %s, %v", i, r.Arguments, refusal)
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// FuzzReadRequest checks that what is read is what encoding/json and the bytes
// say, and that what is refused gives nothing away.
func FuzzReadRequest(f *testing.F) {
	for _, body := range []string{typical, toolCall(""), toolCall(`,"Name":"b"`), `[]`, `{"jsonrpc":"2.0","id":null,"method":"ping"}`, toolCall(`,"n\u0061me":"x"`)} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := string(body)
		r, refusal := wire.ReadRequest(body)
		if string(body) != before {
			t.Fatal("the body was changed")
		}
		if !r.ID.IsZero() && !json.Valid(r.ID.Raw()) {
			t.Fatalf("id %q", r.ID.Raw())
		}
		if refusal != nil {
			if r.Method != "" || r.Params != nil {
				t.Fatalf("parts beside %v: %+v", refusal, r)
			}
			return
		}
		var plain struct {
			Method string
			Params struct {
				Name      *string
				Arguments json.RawMessage
			}
		}
		if err := json.Unmarshal(body, &plain); err != nil {
			t.Fatalf("encoding/json refuses %q: %v", body, err)
		}
		if plain.Method != r.Method || plain.Params.Name != nil && *plain.Params.Name != r.Name {
			t.Fatalf("another reader sees %+v, this one %+v", plain, r)
		}
		if got := string(plain.Params.Arguments); got != string(r.Arguments) && got != "null" {
			t.Fatalf("another reader sees the arguments %s, this one %s", got, r.Arguments)
		}
	})
}
