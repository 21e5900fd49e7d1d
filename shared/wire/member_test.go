package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/wire"
)

func TestMemberFindsTheBytesOfOneMember(t *testing.T) {
	object := json.RawMessage("\n{ \"a\" : 1.0 ,\"b\":{\"a\":2,\"s\":\"}\\\"{\"},\t\"c\":[1,{\"x\":[]}],\"n\":null,\"e\\u0073c\":\"v\\\\\",\"\":true,\"z\":-1e5}")
	for name, want := range map[string]string{
		"a": "1.0", "b": `{"a":2,"s":"}\"{"}`, "c": `[1,{"x":[]}]`, "n": "null", "esc": `"v\\"`, "": "true", "z": "-1e5",
	} {
		if got, ok := wire.Member(object, name); !ok || string(got) != want {
			t.Errorf("Member(%q) = %s, %v, want %s", name, got, ok, want)
		}
	}
	for _, name := range []string{"A", "x", "s", "e\\u0073c", "a "} {
		if got, ok := wire.Member(object, name); ok || got != nil {
			t.Errorf("Member(%q) = %s, want none", name, got)
		}
	}
	got, _ := wire.Member(object, "b")
	if _ = append(got, "XXXXXX"...); strings.Contains(string(object), "X") {
		t.Error("appending to a member wrote into the object")
	}
}

func TestSetMemberLeavesAllOtherBytes(t *testing.T) {
	for _, c := range []struct{ object, name, value, want string }{
		{`{"a":1,"b":2}`, "a", `9007199254740993`, `{"a":9007199254740993,"b":2}`},
		{`{"a":1,"b":2}`, "b", `{"x":1.0}`, `{"a":1,"b":{"x":1.0}}`},
		{`{"a":1}`, "b", `2`, `{"a":1,"b":2}`},
		{`{}`, "b", `2`, `{"b":2}`},
		{` { } `, "b", `2`, ` { "b":2} `},
		{"{ \"a\" : 1e2 ,\n \"z\" : \"<&>\" }", "b", `null`, "{ \"a\" : 1e2 ,\n \"z\" : \"<&>\",\"b\":null }"},
		{"{ \"a\" : 1 , \"z\" : 0 }", "a", `"x"`, "{ \"a\" : \"x\" , \"z\" : 0 }"},
		{`{"n\u0061me":"a"}`, "name", `"b"`, `{"n\u0061me":"b"}`},
		{`{"a":{"b":1}}`, "b", `2`, `{"a":{"b":1},"b":2}`},
		{`{"s":"a,\"b\":1}"}`, "b", `2`, `{"s":"a,\"b\":1}","b":2}`},
		{`{"a":1}`, "é\"\n", `2`, `{"a":1,"é\"\n":2}`},
		{`{"":1}`, "", `2`, `{"":2}`},
		{`{"a":[]}`, "io.modelcontextprotocol/serverInfo", `{}`, `{"a":[],"io.modelcontextprotocol/serverInfo":{}}`},
	} {
		before := c.object
		got, err := wire.SetMember(json.RawMessage(c.object), c.name, json.RawMessage(c.value))
		if err != nil || string(got) != c.want || c.object != before {
			t.Errorf("SetMember(%s, %q, %s) = %s, %v, want %s", c.object, c.name, c.value, got, err, c.want)
		}
	}
}

func TestDeleteMemberLeavesAllOtherBytes(t *testing.T) {
	for _, c := range []struct{ object, name, want string }{
		{`{"a":1,"b":2,"c":3}`, "a", `{"b":2,"c":3}`},
		{`{"a":1,"b":2,"c":3}`, "b", `{"a":1,"c":3}`},
		{`{"a":1,"b":2,"c":3}`, "c", `{"a":1,"b":2}`},
		{`{"a":1}`, "a", `{}`},
		{` { "a" : 1 } `, "a", ` {  } `},
		{"{ \"a\" : 1 ,\n\"b\" : 2.0 }", "b", "{ \"a\" : 1 }"},
		{"{ \"a\" : 1 ,\n\"b\" : 2.0 }", "a", "{ \"b\" : 2.0 }"},
		{`{"a":{"b":1},"c":"b"}`, "b", `{"a":{"b":1},"c":"b"}`},
		{`{"\u0061":1,"b":2}`, "a", `{"b":2}`},
		{`{}`, "a", `{}`},
	} {
		got, err := wire.DeleteMember(json.RawMessage(c.object), c.name)
		if err != nil || string(got) != c.want {
			t.Errorf("DeleteMember(%s, %q) = %s, %v, want %s", c.object, c.name, got, err, c.want)
		}
	}
}

func TestMembersOfWhatIsNoObjectAreErrors(t *testing.T) {
	// A scanner cannot see these two; the reader refuses them before.
	unseen := map[string]bool{`{"a":1]`: true, `{"a":[1}`: true}
	for _, object := range []string{``, ` `, `[]`, `1`, `null`, `"{}"`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a" 1}`, `{a:1}`, `{"a":1 2}`, `{"a":}`, `{,}`, `{"a":1,}`, `{"a`, `{"a\"`, `{"a":1]`, `{"a":[1}`} {
		if got, err := wire.SetMember(json.RawMessage(object), "zz", json.RawMessage(`1`)); err == nil && !unseen[object] || err != nil && got != nil {
			t.Errorf("SetMember(%s) = %s, want an error", object, got)
		}
		if got, err := wire.DeleteMember(json.RawMessage(object), "zz"); err == nil && !unseen[object] {
			t.Errorf("DeleteMember(%s) = %s, want an error", object, got)
		}
		if got, ok := wire.Member(json.RawMessage(object), "zz"); ok {
			t.Errorf("Member(%s) = %s", object, got)
		}
	}
	for _, value := range []string{``, ` `} {
		if got, err := wire.SetMember(json.RawMessage(`{"a":1}`), "a", json.RawMessage(value)); err == nil {
			t.Errorf("SetMember to %q = %s, want an error", value, got)
		}
	}
}

// FuzzMember checks the three functions against encoding/json on every object
// that the reader accepts, and that they survive every other text.
func FuzzMember(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[{"c":"}\\\""}] , "d" : null}`), "b")
	f.Add([]byte(` { } `), "a")
	f.Add([]byte(`{"\u0061":"\\"}`), "a")
	f.Add([]byte(`{"a":1]`), "a")
	f.Fuzz(func(t *testing.T, object []byte, name string) {
		before := string(object)
		value := json.RawMessage(`{"new":[1.0]}`)
		old, found := wire.Member(object, name)
		set, setErr := wire.SetMember(object, name, value)
		deleted, deleteErr := wire.DeleteMember(object, name)
		if string(object) != before {
			t.Fatal("the object was changed")
		}
		if refusal := wire.ReadObject(object); refusal != nil {
			return
		}
		if setErr != nil || deleteErr != nil || wire.ReadObject(deleted) != nil {
			t.Fatalf("%s: %v, %v, %s", object, setErr, deleteErr, deleted)
		}
		want := decode(t, object)
		reference, exists := want[name]
		if found != exists || found && string(old) != string(reference) {
			t.Fatalf("Member(%s, %q) = %s, %v, want %s, %v", object, name, old, found, reference, exists)
		}
		delete(want, name)
		if diff := cmp.Diff(want, decode(t, deleted)); diff != "" {
			t.Fatalf("DeleteMember(%s, %q) = %s:\n%s", object, name, deleted, diff)
		}
		if !utf8.ValidString(name) {
			return // such a name is no JSON string
		}
		want[name] = value
		if diff := cmp.Diff(want, decode(t, set)); diff != "" {
			t.Fatalf("SetMember(%s, %q) = %s:\n%s", object, name, set, diff)
		}
	})
}

// decode reads an object with another reader.
func decode(t *testing.T, object []byte) map[string]json.RawMessage {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(object, &all); err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	return all
}

func BenchmarkSetMemberOf256KiB(b *testing.B) {
	object := json.RawMessage(`{"content":[` + strings.Repeat(`{"a":1,"b":"some text","c":[1,2,3]},`, 7_000) + `1]}`)
	b.SetBytes(int64(len(object)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.SetMember(object, "resultType", json.RawMessage(`"complete"`)); err != nil {
			b.Fatal(err)
		}
	}
}
