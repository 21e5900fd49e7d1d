package e2e_test

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/test/canary"
	"mcprelay/test/fakedns"
	"mcprelay/test/netns"
)

// urlRow is one row of the table of endpoint spellings.
type urlRow struct {
	input   string
	host    string
	allowed bool
}

func urlRows(t *testing.T) []urlRow {
	t.Helper()
	text, err := os.ReadFile("../../shared/endpoint/testdata/urls.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var rows []urlRow
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		input, err := strconv.Unquote(columns[1])
		if err != nil || strings.Contains(input, "…") {
			continue // the head, or cut for display: the endpoint's own test makes these by rule
		}
		verdict := columns[len(columns)-1]
		rows = append(rows, urlRow{input: input, host: strings.TrimPrefix(verdict, "ALLOW "), allowed: strings.HasPrefix(verdict, "ALLOW")})
	}
	if len(rows) < 160 {
		t.Fatalf("read %d rows of the table, want nearly all of 175", len(rows))
	}
	return rows
}

// loopbackCanaries listen wherever a spelling of loopback could lead.
func loopbackCanaries(t *testing.T) []*canary.Canary {
	t.Helper()
	var canaries []*canary.Canary
	for _, addr := range []string{"127.0.0.1:443", "127.0.0.1:80", "[::1]:443", "[::1]:80", "127.0.0.1:8443", "127.0.0.1:22"} {
		canaries = append(canaries, canary.Listen(t, addr))
	}
	return canaries
}

func wantNoHits(t *testing.T, canaries []*canary.Canary) {
	t.Helper()
	for _, c := range canaries {
		if hits := c.Hits(); hits != 0 {
			t.Errorf("canary on %s saw %d connections, want 0", c.Addr(), hits)
		}
	}
}

// Every spelling that the endpoint rule refuses is refused at start, and no
// socket was opened for it.
func TestRefusedSpellingsReachNoCanary(t *testing.T) {
	netns.Run(t, netns.Options{}, func(t *testing.T) {
		canaries := loopbackCanaries(t)
		tried := 0
		for _, row := range urlRows(t) {
			if row.allowed {
				continue
			}
			tried++
			config := writeConfig(t, []server{entry("up", row.input, nil)}, []rule{allow("mcp.up.host.*"), allow("mcp.up.tool.*")}, nil)
			_, errs, code := command(t, nil, "call", "up", "echo", `{}`, "--config", config, "--data", t.TempDir())
			if code != 1 || !strings.Contains(errs, "servers[0].config.endpoint") {
				t.Errorf("%q: exit %d, %s", row.input, code, errs)
			}
		}
		if tried < 130 {
			t.Errorf("tried %d spellings, want all the refused ones", tried)
		}
		wantNoHits(t, canaries)
	})
}

// lawful names of the table that a hosts file or a name server points to loopback.
func lawfulNames(t *testing.T) []string {
	t.Helper()
	seen := map[string]bool{}
	var names []string
	for _, row := range urlRows(t) {
		if row.allowed && !seen[row.host] {
			seen[row.host] = true
			names = append(names, row.host)
		}
	}
	return names
}

// Names that resolve to loopback pass the endpoint rule and die at the
// address, also where loopback spellings are legal.
func TestNamesThatResolveToLoopbackReachNoCanary(t *testing.T) {
	hosts := "127.0.0.1 localhost\n"
	for _, name := range lawfulNames(t) {
		hosts += "127.0.0.1 " + name + "\n"
	}
	netns.Run(t, netns.Options{Hosts: hosts}, func(t *testing.T) {
		canaries := loopbackCanaries(t)
		var servers []server
		rules := []rule{}
		for i, name := range lawfulNames(t) {
			servers = append(servers, entry(fmt.Sprintf("s%d", i), "https://"+name+"/mcp", nil))
			rules = append(rules, allow(fmt.Sprintf("mcp.s%d.host.*", i)), allow(fmt.Sprintf("mcp.s%d.tool.*", i)))
		}
		config := writeConfig(t, servers, rules, map[string]any{"max_servers": len(servers)})
		for _, more := range [][]string{nil, {"--allow-loopback"}} {
			data := t.TempDir()
			relay := serve(t, nil, append([]string{"--config", config, "--data", data}, more...)...)
			for i := range servers {
				r := relay.post(t, fmt.Sprintf("/v1/servers/s%d/tools/echo", i), `{"arguments":{}}`)
				checkProblem(t, r, 502, call.Loopback)
			}
			if record := last(t, data); record.Outcome != call.RefusedByAddress || record.Posts != 0 {
				t.Errorf("record %+v", record)
			}
		}
		wantNoHits(t, canaries)
	})
}

// What a name server may answer with, behind a running relay.
func TestAnswersOfANameServerAreAllChecked(t *testing.T) {
	const public = "93.184.216.34"
	many := make([]string, 17)
	for i := range many {
		many[i] = fmt.Sprintf("93.184.216.%d", i+1)
	}
	cases := []struct {
		name   string
		answer fakedns.Answer
		reason call.Reason
	}{
		{"loopback", fakedns.Addrs("127.0.0.1"), call.Loopback},
		{"metadata", fakedns.Addrs("169.254.169.254"), call.Metadata},
		{"private", fakedns.Addrs("10.0.0.1"), call.PrivateAddress},
		{"wireserver", fakedns.Addrs("168.63.129.16"), call.Metadata},
		{"unspecified", fakedns.Addrs("0.0.0.0"), call.Unspecified},
		{"multicast", fakedns.Addrs("224.0.0.1"), call.Multicast},
		{"mixed", fakedns.Addrs(public, "127.0.0.1"), call.Loopback},
		{"mixed-first", fakedns.Addrs("127.0.0.1", public), call.Loopback},
		{"v6-loopback", fakedns.Addrs(public, "::1"), call.Loopback},
		{"mapped", fakedns.Addrs(public, "::ffff:127.0.0.1"), call.Loopback},
		{"too-many", fakedns.Addrs(many...), call.TooManyAddresses},
		{"v6-only", fakedns.Addrs("2606:4700:4700::1111"), call.NoIPv4},
		{"nothing", fakedns.Answer{}, call.DNS},
	}
	netns.Run(t, netns.Options{}, func(t *testing.T) {
		canaries := loopbackCanaries(t)
		answers := map[string]fakedns.Answer{}
		var servers []server
		rules := []rule{}
		for _, c := range cases {
			answers[c.name+".example.com"] = c.answer
			servers = append(servers, entry(c.name, "https://"+c.name+".example.com/mcp", nil))
			rules = append(rules, allow("mcp."+c.name+".host.com.example.*"), allow("mcp."+c.name+".tool.*"))
		}
		dns := fakedns.StartAt(t, "127.0.0.1:53", answers)
		data := t.TempDir()
		relay := serve(t, nil, "--config", writeConfig(t, servers, rules, map[string]any{"max_servers": len(servers)}), "--data", data)
		for _, c := range cases {
			r := relay.post(t, "/v1/servers/"+c.name+"/tools/echo", `{"arguments":{}}`)
			checkProblem(t, r, 502, c.reason)
			if record := last(t, data); record.Reason != c.reason || record.Outcome != c.reason.Row().Outcome || record.Posts != 0 {
				t.Errorf("%s: record %+v", c.name, record)
			}
			if got := dns.Count("A", c.name+".example.com"); got != 1 {
				t.Errorf("%s: %d A queries, want 1", c.name, got)
			}
		}
		wantNoHits(t, canaries)
	})
}

// A private network that the registration names is reached by the unmodified
// relay, over TLS, at the address that was checked.
func TestAnAllowedNetworkIsReached(t *testing.T) {
	o := netns.Options{Addresses: []netip.Prefix{netip.MustParsePrefix("10.77.0.2/24")}}
	netns.Run(t, o, func(t *testing.T) {
		up := startUpstream(t)
		ca := serveTLS(t, "10.77.0.2:443", "mcp.example.com", up)
		dns := fakedns.StartAt(t, "127.0.0.1:53", map[string]fakedns.Answer{
			"mcp.example.com": fakedns.Addrs("10.77.0.2"), "public.example.com": fakedns.Addrs("93.184.216.34"),
		})
		servers := []server{
			entry("in", "https://mcp.example.com/mcp", nil).with("auth", map[string]any{"type": "none"}),
			entry("out", "https://public.example.com/mcp", nil),
			entry("bare", "https://mcp.example.com/mcp", nil),
		}
		servers[0]["allowed_networks"] = []string{"10.77.0.0/24"}
		servers[1]["allowed_networks"] = []string{"10.77.0.0/24"}
		rules := []rule{}
		for _, name := range []string{"in", "out", "bare"} {
			rules = append(rules, allow("mcp."+name+".host.com.example.*"), allow("mcp."+name+".tool.*"))
		}
		data := t.TempDir()
		proxy := canary.Listen(t, "127.0.0.1:3128")
		relay := serve(t, []string{"SSL_CERT_FILE=" + ca, "HTTPS_PROXY=http://127.0.0.1:3128", "HTTP_PROXY=http://127.0.0.1:3128", "ALL_PROXY=http://127.0.0.1:3128"},
			"--config", writeConfig(t, servers, rules, nil), "--data", data)
		for range 2 {
			if r := relay.post(t, "/v1/servers/in/tools/echo", `{"arguments":{"n":1.0}}`); r.status != 200 || !strings.Contains(string(r.body), `{"n":1.0}`) {
				t.Fatalf("got %d %s\n%s", r.status, r.body, relay.stderr)
			}
		}
		if record := last(t, data); record.Address != "10.77.0.2:443" || record.Host != "mcp.example.com" {
			t.Errorf("record %+v", record)
		}
		if got := dns.Count("A", "mcp.example.com"); got != 1 {
			t.Errorf("%d A queries for two calls within 30 s, want 1", got)
		}
		checkProblem(t, relay.post(t, "/v1/servers/out/tools/echo", `{"arguments":{}}`), 502, call.NotInNetworks)
		checkProblem(t, relay.post(t, "/v1/servers/bare/tools/echo", `{"arguments":{}}`), 502, call.PrivateAddress)
		if got := up.calls.Load(); got != 2 {
			t.Errorf("the server saw %d calls, want 2", got)
		}
		wantNoHits(t, []*canary.Canary{proxy})
	})
}
