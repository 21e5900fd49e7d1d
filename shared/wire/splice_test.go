package wire_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"mcprelay/shared/wire"
)

func TestSpliceChangesSeveralMembersInOnePass(t *testing.T) {
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	info := wire.Set{Name: "_meta", Within: []wire.Set{{Name: "by", Value: raw(`"me"`)}}}
	for _, c := range []struct {
		object  string
		changes []wire.Set
		want    string
	}{
		{`{"a":1,"b":2,"c":3}`, []wire.Set{{Name: "c", Value: raw(`30`)}, {Name: "a", Value: raw(`10`)}}, `{"a":10,"b":2,"c":30}`},
		{`{"a":1,"b":2}`, []wire.Set{{Name: "x", Value: raw(`{}`)}, {Name: "b", Value: raw(`[]`)}, {Name: "y", Value: raw(`null`)}}, `{"a":1,"b":[],"x":{},"y":null}`},
		{`{}`, []wire.Set{{Name: "x", Value: raw(`1`)}, {Name: "y", Value: raw(`2`)}}, `{"x":1,"y":2}`},
		{` { "a" : 1 } `, []wire.Set{{Name: "é\"", Value: raw(`1`)}}, ` { "a" : 1,"é\"":1 } `},
		{`{"\u0061":1}`, []wire.Set{{Name: "a", Value: raw(`2`)}}, `{"\u0061":2}`},
		{`{"a":1}`, []wire.Set{{Name: "a", Value: raw(`2`), Absent: true}, {Name: "b", Value: raw(`3`), Absent: true}}, `{"a":1,"b":3}`},
		{`{"content":[],"_meta":{"x":1}}`, []wire.Set{info}, `{"content":[],"_meta":{"x":1,"by":"me"}}`},
		{`{"_meta":{"by":"you","x":1.0},"content":[]}`, []wire.Set{info}, `{"_meta":{"by":"me","x":1.0},"content":[]}`},
		{`{"content":[]}`, []wire.Set{info}, `{"content":[],"_meta":{"by":"me"}}`},
		{`{"_meta":null}`, []wire.Set{info}, `{"_meta":{"by":"me"}}`},
		{`{"_meta":"x","a":[{"_meta":1}]}`, []wire.Set{info, {Name: "resultType", Value: raw(`"complete"`), Absent: true}}, `{"_meta":{"by":"me"},"a":[{"_meta":1}],"resultType":"complete"}`},
		{`{"_meta":{"a":{"b":1}}}`, []wire.Set{{Name: "_meta", Within: []wire.Set{{Name: "a", Within: []wire.Set{{Name: "c", Value: raw(`2`)}}}}}}, `{"_meta":{"a":{"b":1,"c":2}}}`},
		{`{"a":1}`, nil, `{"a":1}`},
		{`{"a":"}","b":"\"}"}`, []wire.Set{{Name: "c", Value: raw(`1`)}}, `{"a":"}","b":"\"}","c":1}`},
	} {
		before := c.object
		parts, err := wire.Splice(raw(c.object), c.changes...)
		if got := string(bytes.Join(parts, nil)); got != c.want || err != nil || c.object != before {
			t.Errorf("Splice(%s) = %s, %v, want %s", c.object, got, err, c.want)
		}
	}
}

func TestSpliceRefusesWhatIsNoObjectOrNoValue(t *testing.T) {
	for _, object := range []string{``, `[]`, `{"a"`, `{"a":1`, `"x"`} {
		if parts, err := wire.Splice(json.RawMessage(object), wire.Set{Name: "b", Value: json.RawMessage(`1`)}); err == nil || parts != nil {
			t.Errorf("Splice(%s) = %s, want an error", object, parts)
		}
	}
	for _, change := range []wire.Set{{Name: "a"}, {Name: "b", Value: json.RawMessage(" ")}, {Name: "a", Within: []wire.Set{{Name: "x"}}}} {
		if parts, err := wire.Splice(json.RawMessage(`{"a":1}`), change); err == nil || parts != nil {
			t.Errorf("Splice with %+v = %s, want an error", change, parts)
		}
	}
}

func TestSpliceCopiesNothingLarge(t *testing.T) {
	large := strings.Repeat("x", 256<<10)
	object := json.RawMessage(`{"content":"` + large + `","_meta":{"a":1}}`)
	changes := []wire.Set{{Name: "resultType", Value: json.RawMessage(`"complete"`), Absent: true}, {Name: "_meta", Within: []wire.Set{{Name: "b", Value: json.RawMessage(`2`)}}}}
	got := allocated(50, func() {
		if _, err := wire.Splice(object, changes...); err != nil {
			t.Fatal(err)
		}
	})
	if got > 1024 {
		t.Errorf("%d bytes are allocated for an object of %d", got, len(object))
	}
}

// What is written in parts is the response that AppendResult makes.
func TestAResultCanBeWrittenInParts(t *testing.T) {
	for _, result := range []string{`{}`, `{ "a" : 1.0 }`} {
		got := slices.Concat(wire.AppendResultHead([]byte("x"), wire.NumberID(7)), []byte(result), []byte(wire.ResultTail))
		if want := wire.AppendResult([]byte("x"), wire.NumberID(7), json.RawMessage(result)); !bytes.Equal(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
