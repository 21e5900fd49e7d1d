package endpoint_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"mcprelay/shared/endpoint"
)

// parse fails the test when s is not a legal endpoint.
func parse(t *testing.T, s string, o endpoint.Options) endpoint.URL {
	t.Helper()
	u, err := endpoint.Parse(s, o)
	if err != nil {
		t.Fatalf("Parse(%q) = %v, want a URL", s, err)
	}
	return u
}

// rule is the word of the rule that s breaks, "" when s is legal.
func rule(t *testing.T, s string, o endpoint.Options) string {
	t.Helper()
	u, err := endpoint.Parse(s, o)
	if err == nil {
		return ""
	}
	var broken *endpoint.Error
	if !errors.As(err, &broken) {
		t.Fatalf("Parse(%q) error is %T, want *endpoint.Error", s, err)
	}
	if !u.IsZero() {
		t.Fatalf("Parse(%q) gave a usable URL beside its error", s)
	}
	return broken.Rule
}

func TestURLGivesWhatTheExchangeNeeds(t *testing.T) {
	loopback := endpoint.Options{Loopback: true}
	for _, c := range []struct {
		text, redacted, host, authority, target, reversed string
		port                                              uint16
		tls                                               bool
		options                                           endpoint.Options
	}{
		{"https://mcp.example.com/v1", "https://mcp.example.com/v1", "mcp.example.com", "mcp.example.com", "/v1", "com.example.mcp", 443, true, endpoint.Options{}},
		{"https://mcp.example.com", "https://mcp.example.com", "mcp.example.com", "mcp.example.com", "/", "com.example.mcp", 443, true, endpoint.Options{}},
		{"https://mcp.example.com/", "https://mcp.example.com/", "mcp.example.com", "mcp.example.com", "/", "com.example.mcp", 443, true, endpoint.Options{}},
		{"https://mcp.example.com:8443/a/?b=1&c=%20", "https://mcp.example.com:8443/a/", "mcp.example.com", "mcp.example.com:8443", "/a/?b=1&c=%20", "com.example.mcp", 8443, true, endpoint.Options{}},
		{"http://127.0.0.1:9/mcp", "http://127.0.0.1:9/mcp", "127.0.0.1", "127.0.0.1:9", "/mcp", "127.0.0.1", 9, false, loopback},
		{"http://[::1]:9/mcp", "http://[::1]:9/mcp", "::1", "[::1]:9", "/mcp", "::1", 9, false, loopback},
		{"http://localhost/mcp", "http://localhost/mcp", "localhost", "localhost", "/mcp", "localhost", 80, false, loopback},
		{"https://a.localhost", "https://a.localhost", "a.localhost", "a.localhost", "/", "localhost.a", 443, true, loopback},
	} {
		u := parse(t, c.text, c.options)
		got := fmt.Sprint(u.String(), u.Redacted(), u.Host(), u.Authority(), u.RequestURI(), u.ReversedHost(), u.Port(), u.TLS())
		want := fmt.Sprint(c.text, c.redacted, c.host, c.authority, c.target, c.reversed, c.port, c.tls)
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, want)
		}
	}
}

func TestZeroURLIsUnusable(t *testing.T) {
	var u endpoint.URL
	if !u.IsZero() || u.String() != "" || u.Host() != "" || u.Port() != 0 || u.RequestURI() != "" || u.ReversedHost() != "" {
		t.Errorf("the zero URL has parts: %+v", u)
	}
	if _, ok := u.Loopback(); ok {
		t.Error("the zero URL is a loopback endpoint")
	}
}

func TestEndpointsAreComparedByTheirBytes(t *testing.T) {
	a := parse(t, "https://mcp.example.com/v1", endpoint.Options{})
	b := parse(t, "https://mcp.example.com/v1", endpoint.Options{PrivateNames: true})
	if a != b {
		t.Error("one spelling gives two endpoints")
	}
	if a == parse(t, "https://mcp.example.com/v1/", endpoint.Options{}) {
		t.Error("two spellings give one endpoint")
	}
}

func TestLoopbackSpellingsNeedTheOption(t *testing.T) {
	v4 := netip.MustParseAddr("127.0.0.1")
	for _, c := range []struct {
		text string
		addr netip.Addr
		bare string // the rule without the option
	}{
		{"http://127.0.0.1:8080/mcp", v4, "scheme"},
		{"https://127.0.0.1/mcp", v4, "ip-literal"},
		{"https://127.255.0.9/mcp", netip.MustParseAddr("127.255.0.9"), "ip-literal"},
		{"http://localhost:1/mcp", v4, "scheme"},
		{"https://localhost/mcp", v4, "single-label"},
		{"https://docs.localhost/mcp", v4, "reserved-name"},
		{"https://[::1]:65535/mcp", netip.IPv6Loopback(), "ip-literal"},
		{"http://127.0.0.1:443/", v4, "scheme"},
		{"https://127.0.0.1:80/", v4, "ip-literal"},
	} {
		u := parse(t, c.text, endpoint.Options{Loopback: true})
		if addr, ok := u.Loopback(); !ok || addr != c.addr {
			t.Errorf("%s: Loopback() = %v, %v, want %v", c.text, addr, ok, c.addr)
		}
		for _, o := range []endpoint.Options{{}, {PrivateNames: true}} {
			if got := rule(t, c.text, o); got != c.bare {
				t.Errorf("%s with %+v: rule %q, want %q", c.text, o, got, c.bare)
			}
		}
	}
}

func TestLoopbackOptionOpensNothingElse(t *testing.T) {
	for text, want := range map[string]string{
		"http://mcp.example.com/mcp":          "scheme",
		"http://10.0.0.1/mcp":                 "scheme",
		"https://10.0.0.1/mcp":                "ip-literal",
		"https://169.254.169.254/":            "ip-literal",
		"https://0.0.0.0/":                    "ip-literal",
		"https://[::]/":                       "ip-literal",
		"https://[::2]/":                      "ip-literal",
		"https://[0:0:0:0:0:0:0:1]/":          "ip-literal",
		"https://[::ffff:127.0.0.1]/":         "ip-literal",
		"https://[::1%25lo]/":                 "ip-literal",
		"http://[::ffff:127.0.0.1]/":          "scheme",
		"https://127.1/":                      "numeric-tld",
		"https://127.0.0.01/":                 "numeric-tld",
		"https://2130706433/":                 "single-label",
		"https://localhost./":                 "trailing-dot",
		"https://LOCALHOST/":                  "host-case",
		"https://127.0.0.1./":                 "trailing-dot",
		"https://a_b.localhost/":              "label-char",
		"https://.localhost/":                 "label",
		"https://localhost.localdomain/":      "reserved-name",
		"https://notlocalhost/":               "single-label",
		"https://user@127.0.0.1/":             "userinfo",
		"https://127.0.0.1:443/":              "port",
		"http://127.0.0.1:80/":                "port",
		"http://127.0.0.1:/":                  "port",
		"http://127.0.0.1/a/../b":             "path",
		"http://127.0.0.1/mcp?access_token=x": "query-secret",
		"ftp://127.0.0.1/":                    "scheme",
		"HTTP://127.0.0.1/":                   "scheme",
	} {
		if got := rule(t, text, endpoint.Options{Loopback: true}); got != want {
			t.Errorf("%s: rule %q, want %q", text, got, want)
		}
	}
	u := parse(t, "https://127.0.0.1.nip.io/mcp", endpoint.Options{Loopback: true})
	if addr, ok := u.Loopback(); ok {
		t.Errorf("a name that resolves to loopback is spelled as %v", addr)
	}
}

func TestPrivateNamesNeedTheOption(t *testing.T) {
	for _, last := range []string{"internal", "local", "corp", "lan", "home", "intranet", "private"} {
		text := "https://mcp.team." + last + "/mcp"
		if got := rule(t, text, endpoint.Options{}); got != "reserved-name" {
			t.Errorf("%s: rule %q, want reserved-name", text, got)
		}
		if got := rule(t, text, endpoint.Options{PrivateNames: true}); got != "" {
			t.Errorf("%s with private names: rule %q, want none", text, got)
		}
	}
	for _, last := range []string{"localhost", "localdomain", "arpa", "onion", "test", "example", "invalid", "alt", "i2p", "mail"} {
		if got := rule(t, "https://mcp.team."+last+"/mcp", endpoint.Options{PrivateNames: true}); got != "reserved-name" {
			t.Errorf("%s with private names: rule %q, want reserved-name", last, got)
		}
	}
	if got := rule(t, "https://internal/mcp", endpoint.Options{PrivateNames: true}); got != "single-label" {
		t.Errorf("a bare private label: rule %q, want single-label", got)
	}
}

func TestQueryMayNotCarryACredential(t *testing.T) {
	for _, name := range []string{
		"api_key", "apikey", "key", "token", "access_token", "secret", "password", "sig", // the list of SECURITY 0.4
		"API_KEY", "apiKey", "x-api-key", "tavilyApiKey", "client_secret", "X-Amz-Security-Token", "to%6ben", "subscription-key",
		"auth", "authorization", "bearer", "jwt", "pwd", "pass", "passphrase", "accessKey", "secret_key", "private-key", "passwd",
		"X-Amz-Signature", "X-Amz-Credential", "credentials", "+key",
	} {
		err := func() error {
			_, err := endpoint.Parse("https://mcp.example.com/mcp?a=1&"+name+"=hunter2hunter2", endpoint.Options{})
			return err
		}()
		var broken *endpoint.Error
		if !errors.As(err, &broken) || broken.Rule != "query-secret" {
			t.Errorf("query %s: %v, want query-secret", name, err)
			continue
		}
		if !strings.Contains(broken.Hint, "auth.type query") {
			t.Errorf("the hint %q does not point to auth.type query", broken.Hint)
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error tells the credential: %v", err)
		}
	}
	for _, query := range []string{"project_ref=abc", "read_only=true", "keyboard=qwerty", "monkey=1", "tokens=5", "author=x", "b=1&a=2", "flag"} {
		if got := rule(t, "https://mcp.example.com/mcp?"+query, endpoint.Options{}); got != "" {
			t.Errorf("query %s: rule %q, want none", query, got)
		}
	}
}

func TestSecondSpellingsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`https://mcp.example.com/a"b`:      "path",
		"https://mcp.example.com/a%20b":    "path",
		"https://mcp.example.com/a/./b":    "path",
		"https://mcp.example.com/a/..":     "path",
		"https://mcp.example.com/a//":      "path",
		"https://mcp.example.com//":        "path",
		"https://mcp.example.com/a?b=1;c":  "query",
		"https://mcp.example.com/a?b=%2":   "query",
		"https://mcp.example.com/a?b=1#":   "fragment",
		"https://:8443/a":                  "host-empty",
		"https://mcp.example.com:08443/a":  "port",
		"https://mcp.example.com:99999/a":  "port",
		"https://mcp.example.com:+8443/a":  "parse",
		"https://mcp.example.com:8443:1/a": "parse",
		"https://mcp.example.9/a":          "numeric-tld",
		"https://mcp.example.0a/a":         "numeric-tld",
	} {
		if got := rule(t, text, endpoint.Options{}); got != want {
			t.Errorf("%s: rule %q, want %q", text, got, want)
		}
	}
}

func TestEveryLawfulCharacterPasses(t *testing.T) {
	for _, text := range []string{
		"https://abcdefghijklm.nopqrstuvwxyz-0123456789.com/",
		"https://mcp.example.com/ABCxyz0189-._~$&+,;=:@",
		"https://mcp.example.com/a?AZaz09-._~!$&'()*+,=:@/?",
		"https://0a.9.z/", "https://a--b.com/", "https://a-b-c.com/",
		"https://mcp.example.com:1/", "https://mcp.example.com:65535/", "https://mcp.example.com:444/",
	} {
		if got := rule(t, text, endpoint.Options{}); got != "" {
			t.Errorf("%s: rule %q, want none", text, got)
		}
	}
}

func TestErrorsTellTheOperatorWhatToWrite(t *testing.T) {
	for _, text := range []string{
		"", "http://a.com/", "https://A.com/", "https://a.com./", "https://a/", "https://a..com/", "https://a_b.com/", "https://ab--c.com/",
		"https://xn--a.com/", "https://a.1/", "https://a.local/", "https://1.1.1.1/", "https://a.com:443/", "https://a.com/../", "https://a.com?x",
		"https://a.com/?", "https://a.com/?key=1", "https://a.com/#", "https://u@a.com/", "https:///", "https://?", "https://[", " ",
		"https://a.com/" + strings.Repeat("a", 2048), "https://" + strings.Repeat("a.", 130) + "com/",
	} {
		_, err := endpoint.Parse(text, endpoint.Options{})
		var broken *endpoint.Error
		if !errors.As(err, &broken) || len(broken.Hint) < 15 || broken.Hint == "the endpoint is not allowed" || err.Error() != broken.Rule+": "+broken.Hint {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func TestBoundsOfLengthAreExact(t *testing.T) {
	base := "https://mcp.example.com/"
	if got := rule(t, base+strings.Repeat("a", 2048-len(base)), endpoint.Options{}); got != "" {
		t.Errorf("2048 bytes: rule %q, want none", got)
	}
	if got := rule(t, base+strings.Repeat("a", 2049-len(base)), endpoint.Options{}); got != "length" {
		t.Errorf("2049 bytes: rule %q, want length", got)
	}
	label := strings.Repeat("a", 63)
	if got := rule(t, "https://"+label+".com/", endpoint.Options{}); got != "" {
		t.Errorf("label of 63: rule %q, want none", got)
	}
	host := strings.Repeat(label+".", 3) + strings.Repeat("b", 57) + ".com" // 253
	if got := rule(t, "https://"+host+"/", endpoint.Options{}); got != "" {
		t.Errorf("host of %d: rule %q, want none", len(host), got)
	}
	if got := rule(t, "https://b"+host[1:]+"c/", endpoint.Options{}); got != "host-length" {
		t.Errorf("host of %d: rule %q, want host-length", len(host)+1, got)
	}
}

func TestLogsNeverShowTheQuery(t *testing.T) {
	u := parse(t, "https://mcp.example.com/mcp?project_ref=confidential", endpoint.Options{})
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("call", "endpoint", u)
	if !strings.Contains(out.String(), "https://mcp.example.com/mcp") || strings.Contains(out.String(), "confidential") {
		t.Errorf("log line %s", out.String())
	}
}
