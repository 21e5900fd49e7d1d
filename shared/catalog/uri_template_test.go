package catalog_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"mcprelay/shared/catalog"
	"mcprelay/shared/registry"
)

func TestTemplatesAreShownWithTheirExpressions(t *testing.T) {
	for _, c := range []struct{ template, want string }{
		{"db:///{table}", "db%3A%2F%2F%2F{table}"},
		{"repo://{owner}/{repo}/contents{/path*}", "repo%3A%2F%2F{owner}%2F{repo}%2Fcontents{/path*}"},
		{"a{+x}b{#y,z:3}{.w*}{;v}{?u}{&t}", "a{+x}b{#y,z:3}{.w*}{;v}{?u}{&t}"},
		{"a:{user-id}%20é", "a%3A{user-id}%2520%C3%A9"},
		{"{a.b}{c%20d}", "{a.b}{c%20d}"},
		{"a:b", "a%3Ab"},
		{"", ""},
	} {
		got, err := catalog.TemplateURI("docs", c.template)
		if want := "mcprelay://resource/v1/docs/" + c.want; got != want || err != nil {
			t.Errorf("%q is shown as %q, %v, want %q", c.template, got, err, want)
		}
		if server, template, ok := catalog.SplitTemplate(got); server != "docs" || template != c.template || !ok {
			t.Errorf("%q is taken for %q, %q, %v", got, server, template, ok)
		}
	}
}

func TestTemplatesThatNobodyCanExpandAreRefused(t *testing.T) {
	for _, c := range []struct{ template, want string }{
		{"{", "braces"}, {"}", "braces"}, {"a{b", "braces"}, {"a}b", "braces"}, {"{a}}", "braces"}, {"{a", "braces"}, {"}{a}", "braces"},
		{"{}", "expression"}, {"{+}", "expression"}, {"{{a}", "expression"}, {"{a b}", "expression"}, {"{é}", "expression"}, {"{a\n}", "expression"}, {"{a\"}", "expression"},
		{"{=a}", "expression"}, {"{,a}", "expression"}, {"{!a}", "expression"}, {"{@a}", "expression"}, {"{|a}", "expression"}, {"{++a}", "expression"}, {"{a/b}", "expression"}, {"{~a}", "expression"},
		{strings.Repeat("{a}", 9), "more than 8"},
	} {
		got, err := catalog.TemplateURI("docs", c.template)
		if got != "" || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q is shown as %q, %v, want an error about %q", c.template, got, err, c.want)
		}
	}
	if _, err := catalog.TemplateURI("docs", strings.Repeat("{a}", 8)); err != nil {
		t.Errorf("8 expressions: %v", err)
	}
}

func TestWhatIsNoShownTemplateIsRefused(t *testing.T) {
	for _, rest := range []string{"{", "a{b", "}", "a:{b}", "a/{b}", "%3a{b}", "%61{b}", "%7Bb%7D", "{b}%7D", "%FF{b}", "%C3{b}%A9", "{}", "{a b}", "é{b}", strings.Repeat("{a}", 9)} {
		if server, template, ok := catalog.SplitTemplate("mcprelay://resource/v1/docs/" + rest); ok || server != "" || template != "" {
			t.Errorf("%q is taken for %q, %q", rest, server, template)
		}
	}
	for _, shown := range []string{"", "db:///{table}", "mcprelay://resource/v1/docs", "mcprelay://resource/v1//{a}", "mcprelay://resource/v1/{a}/b"} {
		if server, template, ok := catalog.SplitTemplate(shown); ok || server != "" || template != "" {
			t.Errorf("%q is taken for %q, %q", shown, server, template)
		}
	}
}

// Every template leads there and back, and nothing else leads to it.
func FuzzTemplateURI(f *testing.F) {
	for _, template := range []string{"db:///{table}", "{+a}{?b,c*}", "{", "a}", "%7B{x}", "é{x:3}", "mcprelay://resource/v1/docs/%3A{x}", "mcprelay://resource/v1/docs/%7B{x}"} {
		f.Add("docs", template)
	}
	f.Fuzz(func(t *testing.T, server, template string) {
		if server, own, ok := catalog.SplitTemplate(template); ok {
			if shown, err := catalog.TemplateURI(server, own); shown != template || err != nil {
				t.Fatalf("%q is taken for %q of %q, which is shown as %q, %v", template, own, server, shown, err)
			}
		}
		if registry.ServerName(server) != nil {
			return
		}
		shown, err := catalog.TemplateURI(server, template)
		if err != nil {
			return
		}
		got, own, ok := catalog.SplitTemplate(shown)
		if ok != utf8.ValidString(template) || ok && (got != server || own != template) {
			t.Fatalf("%q of %q is shown as %q, which is taken for %q of %q, %v", template, server, shown, own, got, ok)
		}
	})
}
