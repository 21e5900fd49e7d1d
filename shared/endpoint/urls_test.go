package endpoint_test

import (
	_ "embed"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mcprelay/shared/endpoint"
)

//go:embed testdata/urls.tsv
var urls string

// wholeInput undoes the cut that the table makes in long inputs ("…" at the
// end), by the rule that each of the three rows is about.
func wholeInput(t *testing.T, number, cut string) string {
	t.Helper()
	switch number {
	case "32":
		return "https://" + strings.Repeat("a", 64) + ".example.com/mcp"
	case "33":
		return "https://" + strings.Repeat("a.", 126) + "com/mcp"
	case "151":
		return "https://mcp.example.com/" + strings.Repeat("a", 2048)
	}
	t.Fatalf("row %s is cut and no rule builds it: %s", number, cut)
	return ""
}

func TestEveryRowOfTheTableKeepsItsVerdict(t *testing.T) {
	rows := strings.Split(strings.TrimSpace(urls), "\n")[1:]
	if len(rows) != 175 {
		t.Fatalf("the table has %d rows, want 175", len(rows))
	}
	for i, row := range rows {
		cells := strings.Split(row, "\t")
		number, cell, want := cells[0], cells[1], cells[3]
		if number != strconv.Itoa(i+1) {
			t.Fatalf("row %d is numbered %s", i+1, number)
		}
		var input string
		if strings.Contains(cell, "…") {
			input = wholeInput(t, number, cell)
		} else {
			var err error
			if input, err = strconv.Unquote(cell); err != nil {
				t.Fatalf("row %s: %v", number, err)
			}
		}
		t.Run(number, func(t *testing.T) {
			got := "REFUSE " + rule(t, input, endpoint.Options{})
			if got == "REFUSE " {
				got = "ALLOW " + parse(t, input, endpoint.Options{}).Host()
			}
			if got != want {
				t.Errorf("%q: got %s, want %s", input, got, want)
			}
		})
	}
}

// FuzzParse checks that what is accepted has one spelling and one host.
func FuzzParse(f *testing.F) {
	for i, row := range strings.Split(strings.TrimSpace(urls), "\n")[1:] {
		if input, err := strconv.Unquote(strings.Split(row, "\t")[1]); err == nil {
			f.Add(input, i%2 == 0, i%3 == 0)
		}
	}
	host := regexp.MustCompile(`^[a-z0-9.-]+$`)
	f.Fuzz(func(t *testing.T, s string, loopback, private bool) {
		u, err := endpoint.Parse(s, endpoint.Options{Loopback: loopback, PrivateNames: private})
		if err != nil {
			if !u.IsZero() {
				t.Fatalf("a usable URL beside %v", err)
			}
			if len(s) > 12 && strings.Contains(err.Error(), s) {
				t.Fatalf("the error quotes its input: %v", err)
			}
			return
		}
		again, err := url.Parse(s)
		if err != nil || again.String() != s || u.String() != s {
			t.Fatalf("%q is not the fixpoint of its parser: %v, %v", s, again, err)
		}
		addr, isLoopback := u.Loopback()
		if isLoopback && (!loopback || !addr.IsLoopback()) {
			t.Fatalf("%q is loopback %v", s, addr)
		}
		if !host.MatchString(u.Host()) && !(isLoopback && u.Host() == "::1") {
			t.Fatalf("%q has the host %q", s, u.Host())
		}
		if u.Host() != again.Hostname() || u.Authority() != again.Host || u.RequestURI() != again.RequestURI() {
			t.Fatalf("%q is read as %q %q %q", s, u.Host(), u.Authority(), u.RequestURI())
		}
		if !u.TLS() && !isLoopback {
			t.Fatalf("%q is plain http", s)
		}
		if u.Port() == 0 {
			t.Fatalf("%q has no port", s)
		}
	})
}
