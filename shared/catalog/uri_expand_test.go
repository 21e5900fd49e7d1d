package catalog_test

import (
	"strings"
	"testing"

	"github.com/yosida95/uritemplate/v3"

	"mcprelay/shared/catalog"
)

// expanded expands the server's own template and the shown one with the same
// values; ok is false where the reference cannot read the template.
func expanded(t *testing.T, template string, values uritemplate.Values) (own, shown string, ok bool) {
	t.Helper()
	offered, err := catalog.TemplateURI("docs", template)
	if err != nil {
		return "", "", false
	}
	var texts [2]string
	for i, text := range []string{template, offered} {
		parsed, err := uritemplate.New(text)
		if err != nil {
			return "", "", false
		}
		if texts[i], err = parsed.Expand(values); err != nil {
			return "", "", false
		}
	}
	return texts[0], texts[1], true
}

// variants are values of every kind for the variables x, y, l and k.
func variants() []uritemplate.Values {
	text := func(x, y string) uritemplate.Values {
		return uritemplate.Values{"x": uritemplate.String(x), "y": uritemplate.String(y), "l": uritemplate.List(x, y), "k": uritemplate.KV("one", x, "two", y)}
	}
	return []uritemplate.Values{
		{}, {"y": uritemplate.String("only")}, {"x": uritemplate.String("only")}, {"l": uritemplate.List()},
		text("users", "7"), text("", ""), text("a b", "Zürich"), text("100%", "%41"), text("semi;colon", "a=b&c"), text("!*'()", "~.-_"),
		text("{x}", "日本 🔧"), text("a,b", "[::1]"), text("\"<>\\^`|", "\n\t"), text("mcprelay:", "x"),
	}
}

func TestAnExpansionOfEitherTemplateIsTheOther(t *testing.T) {
	checked := 0
	for _, template := range []string{
		"{x}", "db:///{x}", "{x}{y}", "db:///{x}{y}", "db:///{x}/rows/{y}", "x-{x}-{y}.txt", "a:{x,y}", "a:{l}", "a:{l*}", "a:{k}", "a:{k*}", "a:{x:3}",
		"a:{+x}", "a:{+x}/end", "a:{+l*}b", "a:{#x}", "a:b{#x,y}", "a:{.x}", "file:{x}.tar{.y}", "a:{.l*}", "a:{/x}", "a:{/x,y}/end", "a:contents{/l*}",
		"a:{;x}", "a:{;x,y}", "a:{;k*}", "a:{?x}", "a:q{?x,y}", "a:q{?k*}{#y}", "a:q?z=1{&x}", "a:q?z=1{&x,y}{#y}", "repo://{x}/{y}/contents{/l*}{?k*}", "a%20b:{x}%2F",
	} {
		for i, values := range variants() {
			own, shown, ok := expanded(t, template, values)
			if !ok {
				t.Fatalf("the reference cannot expand %s", template)
			}
			if !catalog.Expands(own, template) {
				t.Errorf("%s with values %d: %q is no expansion", template, i, own)
			}
			if got, ok := catalog.Expanded(shown, template); got != own || !ok {
				t.Errorf("%s with values %d: %q is taken for %q, %v, want %q", template, i, shown, got, ok, own)
			}
			checked++
		}
	}
	if checked == 0 {
		t.Error("nothing was checked")
	}
}

// Expansions of other implementations, which differ in what they encode.
func TestExpansionsOfOtherClientsAreKnown(t *testing.T) {
	for _, c := range []struct{ template, rest, want string }{
		{"db:///{table}", "db%3A%2F%2F%2Fa%2fb", "db:///a%2fb"},
		{"db:///{table}", "db%3A%2F%2F%2F(it's)!*", "db:///(it's)!*"},
		{"db:///{user-id}", "db%3A%2F%2F%2F7", "db:///7"},
		{"a:{+path}", "a%3A/b//c?d=e&f#g", "a:/b//c?d=e&f#g"},
		{"a:é/{x}", "a%3A%C3%A9%2Fy", "a:é/y"},
		{"a:b", "a%3Ab", "a:b"},
		{"{x}", "", ""},
		{"{a}/{b}/{path}", "o%2Fr%2Fsrc%2Fmain.go", "o/r/src%2Fmain.go"},
		{"{x}2F{y}", "%2F2F", "%2F2F"},
		{"file-{name}.txt{?v}", "file-a.txt.txt?v=1", "file-a.txt.txt?v=1"},
		{"a{x}b{/y}", "aXbYb/z", "aXbYb/z"},
	} {
		if got, ok := catalog.Expanded("mcprelay://resource/v1/docs/"+c.rest, c.template); got != c.want || !ok {
			t.Errorf("%s: %q is taken for %q, %v, want %q", c.template, c.rest, got, ok, c.want)
		}
	}
}

func TestWhatIsNoExpansionIsRefused(t *testing.T) {
	for _, c := range []struct{ template, shown string }{
		{"db:///{x}", ""}, {"db:///{x}", "db:///a"}, {"db:///{x}", "mcprelay://resource/v1/docs"}, {"{x}", "mcprelay://resource/v1//a"},
		{"db:///{x}", "mcprelay://resource/v1/docs/db:///a"},
		{"db:///{x}", "mcprelay://resource/v1/docs/db%3A%2F%2Fa"},
		{"db:///{x}", "mcprelay://resource/v1/docs/db%3a%2f%2f%2fa"},
		{"db:///{x}", "mcprelay://resource/v1/docs/db%3A%2F%2F%2Fa/b"},
		{"db:///{x}", "mcprelay://resource/v1/docs/db%3A%2F%2F%2Fa b"},
		{"db:///{x}", "mcprelay://resource/v1/docs/db%3A%2F%2F%2Fé"},
		{"db:///{x}", "mcprelay://resource/v1/docs/db%3A%2F%2F%2F%"},
		{"db:///{x}", "mcprelay://resource/v1/docs/db%3A%2F%2F%2F%2"},
		{"db:///{x}", "mcprelay://resource/v1/docs/db%3A%2F%2F%2F%2G"},
		{"db:///{x}", "mcprelay://resource/v1/docs/db%3A%2F%2F%2F{x}"},
		{"db:///{x}", "mcprelay://resource/v1/docs/db%3A%2F%2F%2Fa\x00"},
		{"a{x}b", "mcprelay://resource/v1/docs/ac"}, {"a{x}b", "mcprelay://resource/v1/docs/a"}, {"ab{x}bc", "mcprelay://resource/v1/docs/abc"},
		{"a{/x}", "mcprelay://resource/v1/docs/ax"}, {"a{?x}", "mcprelay://resource/v1/docs/a&x=1"}, {"a{#x}", "mcprelay://resource/v1/docs/a/b"}, {"a{.x}", "mcprelay://resource/v1/docs/ab"},
		{"a{;x}", "mcprelay://resource/v1/docs/a;x=1/b"}, {"a{x}", "mcprelay://resource/v1/docs/a?b"}, {"a{+x}", "mcprelay://resource/v1/docs/a b"},
		{"2{x}F{y}", "mcprelay://resource/v1/docs/%2F"},
		{"a", "mcprelay://resource/v1/docs/ab"}, {"{", "mcprelay://resource/v1/docs/a"}, {"{=x}", "mcprelay://resource/v1/docs/a"},
	} {
		if got, ok := catalog.Expanded(c.shown, c.template); ok || got != "" {
			t.Errorf("%s: %q is taken for %q", c.template, c.shown, got)
		}
	}
}

// A link in a result is shown as a whole, an expansion piece by piece. Where
// both readings of a URI are possible, the server's own URI tells which it was.
func TestALinkIsToldFromAnExpansion(t *testing.T) {
	for _, c := range []struct {
		template, uri string
		want          bool
	}{
		{"file:///{+path}", "file:///a/b.txt", true}, {"file:///{+path}", "file:///a%20b", true}, {"file:///{+path}", "file:///a b", false},
		{"db:///{x}", "db:///users", true}, {"db:///{x}", "db:///a/b", false}, {"db:///{x}", "db:///a%2Fb", true},
		{"repo://{a}/{b}/contents{/path*}", "repo://o/r/contents/src/main.go", true}, {"repo://{a}/{b}/contents{/path*}", "repo://o/r", false},
		{"a:é{x}", "a:éb", true}, {"a:b", "a:b", true}, {"a:b", "a:c", false}, {"{", "{", false}, {"a:{=x}", "a:b", false},
	} {
		if got := catalog.Expands(c.uri, c.template); got != c.want {
			t.Errorf("%s of %s: got %v, want %v", c.uri, c.template, got, c.want)
		}
	}
}

// A server chooses the template and an agent the text, so neither may make the
// search long.
func TestAnExpansionIsFoundWithoutTryingEverything(t *testing.T) {
	template := strings.Repeat("{x}a", 8) + strings.Repeat("a", 2000) + "b"
	text := "mcprelay://resource/v1/docs/" + strings.Repeat("a", 8000)
	if got, ok := catalog.Expanded(text, template); ok {
		t.Errorf("taken for %.20q", got)
	}
	if _, ok := catalog.Expanded(text+"b", template); !ok {
		t.Error("an expansion is not found")
	}
}

// FuzzExpanded holds the mapping against expansions that others make. With one
// expression there is one way to read a text; with more there may be several,
// and one of them is found.
func FuzzExpanded(f *testing.F) {
	f.Add("db:///", "+", "x", "/rows", "a b/c")
	f.Add("a:", "", "x:3", "", "ééé")
	f.Add("a:", "?", "x*", "&b", "")
	f.Add("", "/", "x", "%41", "/")
	f.Fuzz(func(t *testing.T, before, operator, name, after, value string) {
		if strings.ContainsAny(before+after, "{}") {
			return
		}
		template := before + "{" + operator + name + "}" + after
		own, shown, ok := expanded(t, template, uritemplate.Values{"x": uritemplate.String(value)})
		if !ok {
			return
		}
		if got, ok := catalog.Expanded(shown, template); got != own || !ok {
			t.Fatalf("%s with %q: %q is taken for %q, %v, want %q", template, value, shown, got, ok, own)
		}
		more := shown + strings.TrimPrefix(shown, "mcprelay://resource/v1/docs/")
		if got, ok := catalog.Expanded(more, template+template); !ok {
			t.Fatalf("%s twice with %q: %q is taken for %q", template, value, more, got)
		}
	})
}
