package registry_test

import (
	"strings"
	"testing"

	"mcprelay/shared/registry"
)

func TestNames(t *testing.T) {
	long := func(n int) string { return strings.Repeat("a", n) }
	cases := []struct {
		name  string
		check func(string) error
		good  []string
		bad   []string
	}{
		{"server", registry.ServerName,
			[]string{"a", "docs", "docs-2", "a-", long(32)},
			[]string{"", "Docs", "2docs", "-docs", "docs_2", "docs.x", "docs/", "döcs", "docs ", long(33), "a\x00", "docs__x"}},
		{"tenant", registry.TenantID,
			[]string{"acme", "Acme-1", "a.b_c", "0", long(64)},
			[]string{"", "-a", "a#b", "a/b", "a b", "ä", ".a", long(65), "a\n"}},
		{"reference", registry.Reference,
			[]string{"docs-access", "A_b.c", "0", long(64)},
			[]string{"", "-a", "a*", "a/b", "a b", "é", long(65)}},
		{"budget class", registry.BudgetClass,
			[]string{"data.search", "x"},
			[]string{"", ".x", "a b", long(65)}},
		{"offered name", registry.OfferedName,
			[]string{"search", "_x", "-x", ".x", "A.b-c_d", long(128)},
			[]string{"", "a b", "a/b", "é", "a:b", long(129)}},
		{"tool", registry.ToolName,
			[]string{"search", "a b", "a/b", "Été", "*", long(128), strings.Repeat("é", 128)},
			[]string{"", " a", "a ", "a\x00", "a\nb", "a\u0085b", "\xff", long(129), "a\u00a0"}},
		{"subject", registry.Subject,
			[]string{"dev", "a@example.com", "auth0|123", long(256)},
			[]string{"", " ", "a\tb", "\xff", long(257)}},
	}
	for _, c := range cases {
		for _, s := range c.good {
			if err := c.check(s); err != nil {
				t.Errorf("%s %q: %v", c.name, s, err)
			}
		}
		for _, s := range c.bad {
			if err := c.check(s); err == nil {
				t.Errorf("%s %q is accepted", c.name, s)
			} else if s != "" && len(s) > 2 && strings.Contains(err.Error(), s) {
				t.Errorf("%s %q: the error quotes it: %v", c.name, s, err)
			}
		}
	}
}
