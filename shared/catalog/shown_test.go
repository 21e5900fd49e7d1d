package catalog_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"mcprelay/shared/catalog"
	"mcprelay/shared/registry"
)

// everywhere is what every client takes as the name of a tool.
var everywhere = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func TestNamesThatFitAreShownAsTheyAre(t *testing.T) {
	for _, name := range []string{
		"search", "_x", "123_x", "constructor", "__proto__", "a__b", "A-1", "-", "x", strings.Repeat("n", 56),
		"create_repository", "list_containers", "get_resources_", "a_abcdefghij", "a_ABCDEF2345", "a_abcdefg1234", "abcdefghi2345",
	} {
		if got, want := catalog.Shown("github", name), "github__"+name; got != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
	}
}

func TestOtherNamesAreShortened(t *testing.T) {
	for _, c := range []struct{ server, name, want string }{
		{"docs", "read.file", `docs__read_file_[a-z2-7]{10}`},
		{"docs", "files/read", `docs__files_read_[a-z2-7]{10}`},
		{"docs", "sum up", `docs__sum_up_[a-z2-7]{10}`},
		{"docs", "🔧é", `docs_____[a-z2-7]{10}`},
		{"docs", strings.Repeat("n", 59), `docs__n{47}_[a-z2-7]{10}`},
		{"docs", strings.Repeat("n", 128), `docs__n{47}_[a-z2-7]{10}`},
		{"docs", "read_abcde23456", `docs__read_abcde23456_[a-z2-7]{10}`},
		{"docs", "_aaaaaaaaa2", `docs___aaaaaaaaa2_[a-z2-7]{10}`},
		{"docs", "", `docs___[a-z2-7]{10}`},
		{"s2345678901234567890123456789012", strings.Repeat("n", 40), `s2345678901234567890123456789012__n{19}_[a-z2-7]{10}`},
	} {
		got := catalog.Shown(c.server, c.name)
		if !regexp.MustCompile(`^`+c.want+`$`).MatchString(got) || !everywhere.MatchString(got) {
			t.Errorf("%q of %s is shown as %q, want %s", c.name, c.server, got, c.want)
		}
	}
}

// What an agent keeps in its settings must mean the same after an update.
func TestShownNamesNeverChange(t *testing.T) {
	for name, want := range map[string]string{
		"read.file":              "docs__read_file_3uzm35iod5",
		strings.Repeat("n", 128): "docs__nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_3usbdolq23",
	} {
		if got := catalog.Shown("docs", name); got != want {
			t.Errorf("%.20q is shown as %q, want %q", name, got, want)
		}
	}
}

// odd are a hundred thousand names that differ in what shortening drops.
func odd() []string {
	names := []string{"", "constructor", "__proto__", "_x", "123_x", "🔧", "a.b", "a/b", "a b", "a_b", "a:b", "a*b"}
	for i := range 7_000 {
		n := fmt.Sprint(i)
		long := strings.Repeat("n", 128-len(n))
		names = append(names,
			"a."+n, "a/"+n, "a "+n, "a_"+n, "a-"+n, "_"+n, n+"_x", n+"🔧", n+"é", long+n, n+long, long[:40]+"."+n+"."+long[:60],
			"tool_"+strings.Repeat("a", 10-len(n))+strings.NewReplacer("0", "a", "1", "b", "8", "c", "9", "d").Replace(n)+"_"+n)
	}
	for _, name := range names[:8_000] {
		names = append(names, strings.TrimPrefix(catalog.Shown("docs", name+"."), "docs__"))
	}
	return names
}

func TestNoTwoNamesAreShownAlike(t *testing.T) {
	seen, names := map[string]string{}, map[string]bool{}
	for _, name := range odd() {
		if names[name] {
			continue
		}
		names[name] = true
		shown := catalog.Shown("docs", name)
		if other, ok := seen[shown]; ok {
			t.Fatalf("%q and %q are both shown as %q", name, other, shown)
		}
		seen[shown] = name
		if !everywhere.MatchString(shown) || !strings.HasPrefix(shown, "docs__") || shown != catalog.Shown("docs", name) {
			t.Fatalf("%q is shown as %q", name, shown)
		}
	}
	if len(seen) < 95_000 {
		t.Errorf("only %d names were looked at", len(seen))
	}
}

func TestAShownNameIsSplitAtItsServer(t *testing.T) {
	for shown, want := range map[string][2]string{
		"docs__search": {"docs", "search"}, "docs__a__b": {"docs", "a__b"}, "docs___x": {"docs", "_x"}, "docs____": {"docs", "__"}, "a-1__b": {"a-1", "b"},
	} {
		if server, rest, ok := catalog.Split(shown); !ok || server != want[0] || rest != want[1] {
			t.Errorf("%s: got %q, %q, %v, want %q", shown, server, rest, ok, want)
		}
	}
	for _, shown := range []string{"", "docs", "docs_search", "docs__", "__search", "__", "docs-search"} {
		if server, rest, ok := catalog.Split(shown); ok || server != "" || rest != "" {
			t.Errorf("%q: got %q, %q, want a refusal", shown, server, rest)
		}
	}
}

// Whatever a tool is called, its shown name is one that clients take, and leads back
// to its server.
func FuzzShown(f *testing.F) {
	for _, name := range []string{"search", "a.b", "🔧", "__", strings.Repeat("n", 200), "a_abcde23456", "\xff"} {
		f.Add("docs", name)
	}
	f.Fuzz(func(t *testing.T, server, name string) {
		if registry.ServerName(server) != nil {
			return
		}
		shown := catalog.Shown(server, name)
		got, rest, ok := catalog.Split(shown)
		if !everywhere.MatchString(shown) || !ok || got != server || shown != server+"__"+rest {
			t.Fatalf("%q of %q is shown as %q: %q, %q, %v", name, server, shown, got, rest, ok)
		}
		// A shown name shown again is no name of the same tool's.
		if rest != name && catalog.Shown(server, rest) == shown {
			t.Fatalf("%q and %q of %q are both shown as %q", name, rest, server, shown)
		}
	})
}
