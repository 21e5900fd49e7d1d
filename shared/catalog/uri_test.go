package catalog_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"mcprelay/shared/catalog"
	"mcprelay/shared/registry"
)

func TestResourcesAreShownUnderTheirServer(t *testing.T) {
	for _, c := range []struct{ server, uri, want string }{
		{"docs", "file:///a.txt", "mcprelay://resource/v1/docs/file%3A%2F%2F%2Fa.txt"},
		{"docs", "https://example.com/a?b=c&d=e#f", "mcprelay://resource/v1/docs/https%3A%2F%2Fexample.com%2Fa%3Fb%3Dc%26d%3De%23f"},
		{"a-1", "AZaz09-._~", "mcprelay://resource/v1/a-1/AZaz09-._~"},
		{"docs", "a%20b", "mcprelay://resource/v1/docs/a%2520b"},
		{"docs", "a b+c", "mcprelay://resource/v1/docs/a%20b%2Bc"},
		{"docs", "é🔧", "mcprelay://resource/v1/docs/%C3%A9%F0%9F%94%A7"},
		{"docs", "../../other/x", "mcprelay://resource/v1/docs/..%2F..%2Fother%2Fx"},
		{"docs", "{a}", "mcprelay://resource/v1/docs/%7Ba%7D"},
		{"docs", "mcprelay://resource/v1/docs/a", "mcprelay://resource/v1/docs/mcprelay%3A%2F%2Fresource%2Fv1%2Fdocs%2Fa"},
		{"docs", "", "mcprelay://resource/v1/docs/"},
	} {
		if got := catalog.ResourceURI(c.server, c.uri); got != c.want {
			t.Errorf("%q is shown as %q, want %q", c.uri, got, c.want)
		}
		if server, uri, ok := catalog.SplitResource(c.want); !ok || server != c.server || uri != c.uri {
			t.Errorf("%q is taken for %q, %q, %v", c.want, server, uri, ok)
		}
	}
}

func TestWhatIsNoShownResourceIsRefused(t *testing.T) {
	for _, shown := range []string{
		"", "file:///a.txt", "mcprelay://resource/v1/", "mcprelay://resource/v1/docs", "mcprelay://resource/v1//a", "mcprelay://resource/v2/docs/a", "MCPRELAY://resource/v1/docs/a", " mcprelay://resource/v1/docs/a",
		"mcprelay://resource/v1/docs/a/b", "mcprelay://resource/v1/docs/a:b", "mcprelay://resource/v1/docs/a b", "mcprelay://resource/v1/docs/é", "mcprelay://resource/v1/docs/a?b", "mcprelay://resource/v1/docs/a#b", "mcprelay://resource/v1/docs/a+b",
		"mcprelay://resource/v1/docs/%3a", "mcprelay://resource/v1/docs/%61", "mcprelay://resource/v1/docs/%7E", "mcprelay://resource/v1/docs/%", "mcprelay://resource/v1/docs/%3", "mcprelay://resource/v1/docs/%3G", "mcprelay://resource/v1/docs/%%20",
		"mcprelay://resource/v1/docs/%FF", "mcprelay://resource/v1/docs/%C3", "mcprelay://resource/v1/docs/%ED%A0%80", "mcprelay://resource/v1/docs/{a}",
		"mcprelay://resource/v1/do%63s/a", "mcprelay://resource/v1/do cs/a", "mcprelay://resource/v1/dé/a",
	} {
		if server, uri, ok := catalog.SplitResource(shown); ok || server != "" || uri != "" {
			t.Errorf("%q is taken for %q, %q", shown, server, uri)
		}
	}
}

// Every URI leads there and back, and nothing else leads to it.
func FuzzResourceURI(f *testing.F) {
	for _, uri := range []string{"file:///a.txt", "", "%", "%41", "é", "a/../b", "\x00", "a%2Fb"} {
		f.Add("docs", uri)
	}
	f.Add("docs", "mcprelay://resource/v1/docs/%3A")
	f.Fuzz(func(t *testing.T, server, uri string) {
		if server, own, ok := catalog.SplitResource(uri); ok && catalog.ResourceURI(server, own) != uri {
			t.Fatalf("%q is taken for %q of %q, which is shown as %q", uri, own, server, catalog.ResourceURI(server, own))
		}
		if registry.ServerName(server) != nil {
			return
		}
		shown := catalog.ResourceURI(server, uri)
		got, own, ok := catalog.SplitResource(shown)
		if ok != utf8.ValidString(uri) || ok && (got != server || own != uri) {
			t.Fatalf("%q of %q is shown as %q, which is taken for %q of %q, %v", uri, server, shown, own, got, ok)
		}
		if strings.Trim(strings.TrimPrefix(shown, "mcprelay://resource/v1/"+server+"/"), "%-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "" {
			t.Fatalf("%q is shown as %q", uri, shown)
		}
	})
}
