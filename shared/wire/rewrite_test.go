package wire_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/wire"
)

// moved is where the tests say that a resource is.
func moved(uri string) string { return "at:" + uri }

func TestURIsAreRewrittenAtTheirPlaces(t *testing.T) {
	for _, c := range []struct {
		name, result, want string
		where              wire.Where
	}{
		{"links and embedded resources of a tool",
			`{"content":[{"type":"text","text":"see a:1"},{"type":"resource_link","uri":"a:1","name":"a:1"},{"type":"resource","resource":{"uri":"a:2","text":"a:2"}}],"structuredContent":{"uri":"a:3"}}`,
			`{"content":[{"type":"text","text":"see a:1"},{"type":"resource_link","uri":"at:a:1","name":"a:1"},{"type":"resource","resource":{"uri":"at:a:2","text":"a:2"}}],"structuredContent":{"uri":"a:3"}}`,
			wire.WhereResult},
		{"types that come last, blanks and escapes",
			" { \"x\" : [ { \"uri\" : \"a:0\" } ] , \"content\" : [ { \"uri\" : \"a:\\u0031\" , \"typ\\u0065\" : \"resource\\u005flink\" } ,\n{ \"resource\" : { \"text\" : \"}]\\\"\" , \"\\u0075ri\":\"a\\/b\" } , \"type\":\"resource\" } ] } ",
			" { \"x\" : [ { \"uri\" : \"a:0\" } ] , \"content\" : [ { \"uri\" : \"at:a:1\" , \"typ\\u0065\" : \"resource\\u005flink\" } ,\n{ \"resource\" : { \"text\" : \"}]\\\"\" , \"\\u0075ri\":\"at:a/b\" } , \"type\":\"resource\" } ] } ",
			wire.WhereResult},
		{"only the URI that the type means",
			`{"content":[{"type":"resource","uri":"a:1","resource":{"uri":"a:2"}},{"type":"resource_link","resource":{"uri":"a:3"},"uri":"a:4"},{"type":"text","uri":"a:5","resource":{"uri":"a:6"}},{"uri":"a:7"}]}`,
			`{"content":[{"type":"resource","uri":"a:1","resource":{"uri":"at:a:2"}},{"type":"resource_link","resource":{"uri":"a:3"},"uri":"at:a:4"},{"type":"text","uri":"a:5","resource":{"uri":"a:6"}},{"uri":"a:7"}]}`,
			wire.WhereResult},
		{"content of messages, one item or several",
			`{"messages":[{"role":"user","content":{"type":"resource_link","uri":"a:1"}},{"content":[{"type":"resource","resource":{"uri":"a:2"}},{"type":"text","text":"t"}],"uri":"a:3"}],"content":[{"type":"resource_link","uri":"a:4"}]}`,
			`{"messages":[{"role":"user","content":{"type":"resource_link","uri":"at:a:1"}},{"content":[{"type":"resource","resource":{"uri":"at:a:2"}},{"type":"text","text":"t"}],"uri":"a:3"}],"content":[{"type":"resource_link","uri":"a:4"}]}`,
			wire.WherePrompt},
		{"contents of a resource",
			`{"contents":[{"uri":"a:1","text":"\ud800","resource":{"uri":"a:2"}},{"uri":"a:3#part","blob":"AAAA"}],"uri":"a:4"}`,
			`{"contents":[{"uri":"at:a:1","text":"\ud800","resource":{"uri":"a:2"}},{"uri":"at:a:3#part","blob":"AAAA"}],"uri":"a:4"}`,
			wire.WhereResource},
		{"a descriptor", `{"name":"n","uri":"a:1","icons":[{"src":"a:2"}],"_meta":{"uri":"a:3"}}`, `{"name":"n","uri":"at:a:1","icons":[{"src":"a:2"}],"_meta":{"uri":"a:3"}}`, wire.WhereDescriptor},
		{"the page of a tool, under both of its keys",
			` {"name":"n","uri":"a:0","_meta":{ "ui" : {"visibility":["app"],"resourceUri" :"a:1","x":1.0},"\u0075i\/resourceUri":"a\/2","uri":"a:3","resourceUri":"a:4"},"ui":{"resourceUri":"a:5"},"ui/resourceUri":"a:6"}`,
			` {"name":"n","uri":"a:0","_meta":{ "ui" : {"visibility":["app"],"resourceUri" :"at:a:1","x":1.0},"\u0075i\/resourceUri":"at:a/2","uri":"a:3","resourceUri":"a:4"},"ui":{"resourceUri":"a:5"},"ui/resourceUri":"a:6"}`,
			wire.WhereTool},
		{"what the new URI holds is escaped as it must", `{"uri":"\"é\n"}`, `{"uri":"at:\"é\n"}`, wire.WhereDescriptor},
		{"no place", `{"uri":"a:1","content":[{"type":"resource_link","uri":"a:1"}]}`, `{"uri":"a:1","content":[{"type":"resource_link","uri":"a:1"}]}`, 0},
	} {
		before := strings.Clone(c.result)
		got, err := wire.RewriteURIs(json.RawMessage(c.result), c.where, moved)
		if err != nil || c.result != before {
			t.Errorf("%s: %v, the result became %s", c.name, err, c.result)
		}
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestResultsOfAnotherShapeAreLeftAlone(t *testing.T) {
	for _, result := range []string{
		`null`, `7`, `"content"`, `[]`, `[{"type":"resource_link","uri":"a:1"}]`, `{}`, ` {} `,
		`{"content":null,"messages":null,"contents":null,"uri":null}`, `{"content":"a:1","messages":"a:1","contents":"a:1","uri":["a:1"]}`,
		`{"content":{"type":"resource_link","uri":"a:1"},"messages":{"content":{"type":"resource_link","uri":"a:1"}},"contents":{"uri":"a:1"}}`,
		`{"content":[[{"type":"resource_link","uri":"a:1"}],7,null,"a:1",{}],"messages":[[],7,{"content":7},{"content":[[],null]}],"contents":[[],7,{}]}`,
		`{"content":[{"type":"resource_link","uri":7},{"type":"resource","resource":"a:1"},{"type":"resource","resource":[{"uri":"a:1"}]},{"type":"resource","resource":{"uri":{}}}]}`,
		`{"content":[{"type":7,"uri":"a:1"},{"type":"Resource_Link","uri":"a:1"},{"type":"resource_link","URI":"a:1"}],"contents":[{"uri":7}],"Uri":"a:1"}`,
		`{"_meta":{"ui":"a:1","ui/resourceUri":["a:1"],"UI":{"resourceUri":"a:1"}}}`, `{"_meta":[{"ui":{"resourceUri":"a:1"}}]}`, `{"_meta":{"ui":{"resourceUri":null,"resourceURI":"a:1"}}}`,
		`{"content":[{"type":"resource_link","uri":"\ud800"}],"contents":[{"uri":"\udfff"}],"uri":"a\ud800b"}`,
	} {
		for where := range wire.WhereTool + 2 {
			got, err := wire.RewriteURIs(json.RawMessage(result), where, moved)
			if string(got) != result || err != nil {
				t.Errorf("place %d of %s: got %s, %v", where, result, got, err)
			}
		}
	}
}

func TestNoResultIsLostToARewriting(t *testing.T) {
	for _, result := range []string{
		``, `{`, `{"content"`, `{"content":`, `{"content":[`, `{"content":[{"type":"resource_link","uri":"a:1"}`, `{"content":[{"type":"resource_link","uri":"a:1"},]}`,
		`{"content":[{"type":"resource_link","uri":"a:1"} {}]}`, `{"content":[{7:1}]}`, `{"content":[{"type" "resource"}]}`, `{"content":[{"uri":"`, `{"content":[{"`, `{"content":[]`, `{"content":[{}}`,
	} {
		got, err := wire.RewriteURIs(json.RawMessage(result), wire.WhereResult, moved)
		if err == nil || string(got) != result {
			t.Errorf("%s: got %s, %v, want it as it was and an error", result, got, err)
		}
	}
}

func TestRewritingNothingCopiesNothing(t *testing.T) {
	result := json.RawMessage(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 256<<10) + `"},{"type":"resource_link","uri":"a:1"}]}`)
	same := func(uri string) string { return uri }
	got := allocated(50, func() {
		if _, err := wire.RewriteURIs(result, wire.WhereResult, same); err != nil {
			t.Fatal(err)
		}
	})
	if got > 1024 {
		t.Errorf("%d bytes are allocated for a result of %d", got, len(result))
	}
}

// FuzzRewriteURIs checks a rewriting against one that decodes and encodes, and
// that the way back gives the bytes that were there.
func FuzzRewriteURIs(f *testing.F) {
	for _, seed := range []string{
		`{"content":[{"type":"resource_link","uri":"a:1"},{"type":"resource","resource":{"uri":"a:2"}}]}`, `{"messages":[{"content":{"type":"resource_link","uri":"a:1"}}]}`,
		`{"contents":[{"uri":"a:1"}]}`, `{"uri":"a:1"}`, `{ "content" : [ { "uri":"a\/1" , "type":"resource_link" } ] }`, `{"content":[{"type":"resource_link","uri":"\ud800"}]}`,
		`{"_meta":{"ui":{"resourceUri":"a:1"},"ui\/resourceUri":"a:2"}}`,
	} {
		f.Add([]byte(seed), uint8(5))
		f.Add([]byte(seed), uint8(1))
		f.Add([]byte(seed), uint8(2))
		f.Add([]byte(seed), uint8(3))
		f.Add([]byte(seed), uint8(4))
	}
	f.Fuzz(func(t *testing.T, result []byte, place uint8) {
		where := wire.Where(place % 6)
		same, err := wire.RewriteURIs(result, where, func(uri string) string { return uri })
		if string(same) != string(result) {
			t.Fatalf("%s became %s, %v", result, same, err)
		}
		if _, refusal := wire.ReadReply([]byte(answer(string(result)))); refusal != nil || err != nil {
			return // nothing that the relay would rewrite
		}
		var uris []string
		got, err := wire.RewriteURIs(result, where, func(uri string) string {
			uris = append(uris, uri)
			return "mark:1"
		})
		if err != nil {
			t.Fatalf("%s: %v", result, err)
		}
		checkRewritten(t, result, got, uris, where)
	})
}

// checkRewritten decodes both results, and wants each difference to be one of
// the URIs at a place of the kind.
func checkRewritten(t *testing.T, before, after []byte, uris []string, where wire.Where) {
	t.Helper()
	var old, changed any
	if json.Unmarshal(before, &old) != nil || json.Unmarshal(after, &changed) != nil {
		t.Fatalf("%s became %s, which is no JSON", before, after)
	}
	var places []map[string]any
	switch where {
	case wire.WhereResult:
		places = items(member(old, "content"))
	case wire.WherePrompt:
		for _, message := range list(member(old, "messages")) {
			content := member(message, "content")
			if _, one := content.(map[string]any); one {
				content = []any{content}
			}
			places = append(places, items(content)...)
		}
	case wire.WhereResource:
		for _, c := range list(member(old, "contents")) {
			places = append(places, object(c))
		}
	case wire.WhereDescriptor:
		places = append(places, object(old))
	}
	n := 0
	if where == wire.WhereTool {
		meta := member(old, "_meta")
		n = stamped(object(member(meta, "ui")), "resourceUri", uris) + stamped(object(meta), "ui/resourceUri", uris)
	}
	for _, place := range places {
		uri, ok := place["uri"].(string)
		if !ok || strings.ContainsRune(uri, '\ufffd') && (n >= len(uris) || uris[n] != uri) {
			continue // no text, or one with a lone surrogate
		}
		if n >= len(uris) || uris[n] != uri {
			t.Fatalf("%s: URI %d is %q, asked about %q", before, n, uri, uris)
		}
		place["uri"] = "mark:1"
		n++
	}
	if diff := cmp.Diff(old, changed); diff != "" || n != len(uris) {
		t.Fatalf("%s became %s with %d of %q:\n%s", before, after, n, uris, diff)
	}
}

// stamped puts the mark in the place of a member that is one of the URIs, and
// counts it.
func stamped(o map[string]any, key string, uris []string) int {
	if uri, ok := o[key].(string); !ok || !slices.Contains(uris, uri) {
		return 0
	}
	o[key] = "mark:1"
	return 1
}

// items are the objects that hold the URIs of some content.
func items(content any) (holders []map[string]any) {
	for _, item := range list(content) {
		switch member(item, "type") {
		case "resource_link":
			holders = append(holders, object(item))
		case "resource":
			holders = append(holders, object(member(item, "resource")))
		}
	}
	return holders
}

// list, object and member look into decoded JSON; of another kind of value
// they give nothing.
func list(v any) []any { a, _ := v.([]any); return a }

func object(v any) map[string]any { o, _ := v.(map[string]any); return o }

func member(v any, name string) any { return object(v)[name] }
