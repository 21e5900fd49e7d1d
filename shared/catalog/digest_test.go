package catalog_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcprelay/shared/catalog"
)

func digest(descriptor string) string { return catalog.Digest(json.RawMessage(descriptor)) }

func TestDigestSeesWhatADescriptorSays(t *testing.T) {
	for _, same := range [][]string{
		{`{"name":"a","inputSchema":{"type":"object","properties":{"x":{},"y":{}}}}`, `{"inputSchema":{"properties":{"y":{},"x":{}},"type":"object"},"name":"a"}`, " {\n\"name\" : \"a\" , \"inputSchema\":{ \"type\":\"object\",\"properties\":{\"x\":{ },\"y\":{}}}}\t"},
		{`{"name":"aé/🔧"}`, `{"n\u0061me":"\u0061\u00e9\/\ud83d\udd27"}`, `{"name":"a\u00E9/\uD83D\uDD27"}`},
		{`{"a":"<&>\u2028"}`, "{\"a\":\"\\u003c\\u0026\\u003e\u2028\"}"},
		{`{"é":1,"a":2,"z":3,"😀":4,"` + "\ufb33" + `":5}`, `{"` + "\ufb33" + `":5,"😀":4,"z":3,"a":2,"é":1}`},
	} {
		for _, other := range same[1:] {
			if digest(same[0]) != digest(other) {
				t.Errorf("%s and %s have different digests", same[0], other)
			}
		}
	}
	seen := map[string]string{}
	for _, descriptor := range []string{
		`{"name":"a"}`, `{"name":"b"}`, `{"name":"A"}`, `{"Name":"a"}`, `{"name":["a"]}`, `{"name":"a","b":null}`, `{"name":"a","b":""}`, `{"name":"a","b":{}}`, `{"name":"a","b":[]}`,
		`{"n":9007199254740992}`, `{"n":9007199254740993}`, `{"n":1}`, `{"n":1.0}`, `{"n":1e0}`, `{"n":-1}`, `{"n":0}`, `{"n":0.1}`, `{"n":0.1000000000000000055}`, `{"n":1e400}`, `{"n":1e401}`, `{"n":true}`, `{"n":"1"}`,
		`{"l":[1,2]}`, `{"l":[2,1]}`, `{"l":[1,2,2]}`, `{"l":[[1],2]}`, `{"l":["1,2"]}`,
		`{"s":"a b"}`, `{"s":"a  b"}`, `{"s":"ab"}`, `{"s":"é"}`, `{"s":"e\u0301"}`, `{"s":"\u0000"}`, `{"s":"\ufffd"}`,
		`{"s":"\ud800"}`, `{"s":"\ud801"}`, `{"s":"\udfff"}`, `{"a":1,"a":2}`, `{"a":2,"a":1}`, `{"a":2}`, `{"a":1}`, ``, ` `, `null`, `{}`, `{"a"`,
	} {
		sum := digest(descriptor)
		if other, ok := seen[sum]; ok {
			t.Errorf("%s and %s have the same digest", descriptor, other)
		}
		seen[sum] = descriptor
		if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(sum) {
			t.Errorf("%s has the digest %q", descriptor, sum)
		}
	}
}

// What operators approved must stay approved after an update.
func TestDigestsNeverChange(t *testing.T) {
	// The SHA-256 of {"inputSchema":{"maximum":1.0,"type":"object"},"name":"a"}.
	const want = "ae0f4581c966f6f16ed5f692b0b5da2aef8023ca4d27d945dfd7829acb84d84c"
	if got := digest(`{"name":"a", "inputSchema":{"type":"object","maximum":1.0}}`); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDigestLeavesTheDescriptorAlone(t *testing.T) {
	descriptor := `{ "name":"a", "b":1.0, "a":"\u0061" }`
	raw := json.RawMessage(descriptor)
	catalog.Digest(raw)
	if string(raw) != descriptor {
		t.Errorf("the descriptor became %s", raw)
	}
}

// FuzzDigest checks that a descriptor written anew, its members sorted, has
// the digest it had, and with one more member another.
func FuzzDigest(f *testing.F) {
	for _, descriptor := range []string{`{"name":"a","inputSchema":{"type":"object"}}`, `{"b":[1.0,-0,1e400],"a":"\u0061"}`, `{"a":"\ud800"}`, `{"a":1,"a":2}`, `[]`} {
		f.Add([]byte(descriptor))
	}
	f.Fuzz(func(t *testing.T, descriptor []byte) {
		sum := catalog.Digest(descriptor)
		if sum != catalog.Digest(descriptor) {
			t.Fatalf("%s has two digests", descriptor)
		}
		var members map[string]json.RawMessage
		if !jsontext.Value(descriptor).IsValid() || json.Unmarshal(descriptor, &members) != nil || members == nil {
			return
		}
		again, err := json.MarshalIndent(members, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if catalog.Digest(again) != sum {
			t.Fatalf("%s and %s have different digests", descriptor, again)
		}
		for name := "new"; ; name += "+" {
			if _, there := members[name]; !there {
				members[name] = json.RawMessage(`null`)
				break
			}
		}
		if again, err = json.Marshal(members); err != nil || catalog.Digest(again) == sum {
			t.Fatalf("%s and %s have the same digest, %v", descriptor, again, err)
		}
	})
}

func TestTheDigestOfAllToolsIsOfEachOne(t *testing.T) {
	a, b := catalog.Tool{Name: "a", Digest: "1"}, catalog.Tool{Name: "b", Digest: "2"}
	of := func(tools ...catalog.Tool) string { return catalog.Catalog{Tools: tools}.ToolsDigest() }
	whole := of(a, b)
	if len(whole) != 64 || of(b, a) != whole || of() != "" {
		t.Errorf("got %q, %q in another order, and %q of none", whole, of(b, a), of())
	}
	for name, other := range map[string]string{
		"one less":            of(a),
		"another description": of(a, catalog.Tool{Name: "b", Digest: "3"}),
		"another name":        of(a, catalog.Tool{Name: "c", Digest: "2"}),
		"another border":      of(catalog.Tool{Name: "a1", Digest: ""}, b),
		"swapped":             of(catalog.Tool{Name: "a", Digest: "2"}, catalog.Tool{Name: "b", Digest: "1"}),
	} {
		if other == whole {
			t.Errorf("%s: has the same digest", name)
		}
	}
}
