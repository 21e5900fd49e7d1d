package cases_test

import (
	"strings"
	"testing"

	"mcprelay/test/hostile"
)

// Section H: results.
func results() []row {
	return []row{
		{"H80", "structuredContent without content passes", kept(
			`{"structuredContent":{"n":1.0}}`, `{"structuredContent":[1,2]}`, `{"structuredContent":"text"}`, `{"structuredContent":null}`, `{"structuredContent":7}`,
			`{"isError":false,"structuredContent":{}}`)},
		{"H81", "empty content passes", kept(`{"content":[]}`, `{"content":[],"isError":false}`, `{}`, `{"content":null}`, `{"content":[],"isError":true}`)},
		{"H82", "structuredContent is never dropped, to the byte", kept(
			`{"content":[{"type":"text","text":"x"}],"structuredContent":{"b":9007199254740993,"a":1e2,"c":-0,"d":0.1e-7,"<&>":"\u003c\/"}}`,
			`{"structuredContent":{"big":9223372036854775807,"one":1.0},"content":[{"type":"text","text":"{}"}]}`,
			`{ "content" : [ ] ,	"structuredContent" : { "z" : [ 1 , 2 ] } }`,
			`{"content":[{"type":"text","text":"\ud83d"}],"structuredContent":{"deep":[[[[{"a":[{}]}]]]]}}`)},
		{"H84", "unknown blocks and members pass, and nothing is invented", kept(
			`{"content":[{"type":"zzz","payload":{"x":[1]}}]}`, `{"content":[{"type":"text","text":"x","annotations":{"audience":["user"]},"zzz":1},{"type":"resource_link","uri":"a:b","name":"n"}]}`,
			`{"content":[{"no":"type"}],"more":{"a":null}}`, `{"content":["not a block",7,null]}`, `{"content":[],"ttlMs":5,"cacheScope":"public"}`,
			`{"content":[],"nextCursor":"","total":1e400}`)},
	}
}

// kept wants each result to reach the agent as it came: as JSON and in a
// stream, from servers of each era, for agents of both.
func kept(texts ...string) func(*testing.T, *stage) {
	return func(t *testing.T, k *stage) {
		k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
			for _, text := range texts {
				for _, script := range []hostile.Script{hostile.Result(text), hostile.Stream(hostile.Answer(text))} {
					s.up.On("tools/call", script)
					s.ask(hostile.Ask{}, want{result: text, session: hostile.Held(s.up.Era())})
					got := s.ask(hostile.Ask{Modern: true}, want{}).Result()
					begin := strings.TrimRight(strings.TrimSuffix(text, "}"), " \t")
					if !strings.HasPrefix(got, begin) || strings.Count(got, "structuredContent") != strings.Count(text, "structuredContent") {
						t.Errorf("a modern agent got\n%s\nwant what begins with\n%s", got, begin)
					}
				}
			}
			for _, text := range []string{
				`{"_meta":{"x/y":{"a":1.0},"progressToken":null},"content":[]}`,
				`{"resultType":"complete","content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"theirs","version":"1"}}}`,
			} {
				s.up.On("tools/call", hostile.Result(text))
				s.ask(hostile.Ask{}, want{result: text})
			}
		})
	}
}
