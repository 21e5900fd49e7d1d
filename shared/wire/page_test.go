package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/wire"
)

func TestElementsAreTheBytesThatCame(t *testing.T) {
	for _, row := range []struct {
		result string
		want   []string
		ok     bool
	}{
		{`{"tools":[ {"n" : 1e2, "s":"\u00e9"} ,12345678901234567890,null]}`, []string{`{"n" : 1e2, "s":"\u00e9"}`, `12345678901234567890`, `null`}, true},
		{`{"x":[1],"tools":[]}`, nil, true},
		{`{"tools":null}`, nil, false},
		{`{"tools":{}}`, nil, false},
		{`{"tools":"[]"}`, nil, false},
		{`{"Tools":[]}`, nil, false},
		{`{}`, nil, false},
		{`[]`, nil, false},
		{``, nil, false},
	} {
		elements, ok := wire.Elements(json.RawMessage(row.result), "tools")
		var got []string
		for _, element := range elements {
			got = append(got, string(element))
		}
		if diff := cmp.Diff(row.want, got); diff != "" || ok != row.ok {
			t.Errorf("%s: got %v, -want +got\n%s", row.result, ok, diff)
		}
	}
}

func TestTheNextCursor(t *testing.T) {
	long := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	followed := []json.RawMessage{json.RawMessage(`"a"`), json.RawMessage(`""`)}
	for _, row := range []struct {
		rule     string
		result   string
		legacy   bool
		followed []json.RawMessage
		want     string // empty: the last page
		fault    string // empty: none
	}{
		{"none", `{}`, false, nil, "", ""},
		{"null", `{"nextCursor":null}`, false, nil, "", ""},
		{"as it came", `{"nextCursor":"\u0061\/"}`, false, followed, `"\u0061\/"`, ""},
		{"empty, since 2026-07-28", `{"nextCursor":""}`, false, nil, `""`, ""},
		{"empty, before", `{"nextCursor":""}`, true, nil, "", ""},
		{"one that was followed", `{"nextCursor":"a"}`, true, followed, "", "a cursor came twice, after 2 pages"},
		{"an empty one that was followed", `{"nextCursor":""}`, false, followed, "", "a cursor came twice, after 2 pages"},
		{"a number", `{"nextCursor":7}`, true, nil, "", "an unusable cursor of 1 bytes"},
		{"an object", `{"nextCursor":{}}`, false, nil, "", "an unusable cursor of 2 bytes"},
		{"the longest", `{"nextCursor":` + long(wire.MaxCursor) + `}`, false, nil, long(wire.MaxCursor), ""},
		{"a longer one", `{"nextCursor":` + long(wire.MaxCursor+1) + `}`, false, nil, "", "an unusable cursor of 8193 bytes"},
	} {
		got, err := wire.NextCursor(json.RawMessage(row.result), row.legacy, row.followed)
		fault := ""
		if err != nil {
			fault = err.Error()
		}
		if string(got) != row.want || fault != row.fault {
			t.Errorf("%s: want %s %q, got %s %q", row.rule, row.want, row.fault, got, fault)
		}
	}
}
