package hostile_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/test/hostile"
)

func TestAnHonestServerOfEachEraAnswersThroughTheRelay(t *testing.T) {
	store := hostile.Open(t)
	for _, era := range hostile.Eras() {
		for _, plain := range []bool{false, true} {
			up := hostile.Start(t, hostile.Options{Era: era, TLS: hostile.TLS{Plain: plain}})
			relay := hostile.Relay(t, up, hostile.Setup{Store: store, Tenant: tenant(era, plain)})
			for range 2 {
				reply := relay.Call(t, hostile.Ask{Arguments: `{"n":1.0}`})
				reply.Answered(strings.ReplaceAll(up.Echo(), "$ARGUMENTS", `{"n":1.0}`))
			}
			if reply := relay.Call(t, hostile.Ask{Plain: true}); reply.Status != 200 || !strings.Contains(reply.Body, `"outcome":"answered"`) {
				t.Errorf("plain face: %d %s", reply.Status, reply.Body)
			}
			if up.Calls() != 3 {
				t.Errorf("%s: the server saw %v", era, up.Sequence())
			}
		}
	}
}

func tenant(era hostile.Era, plain bool) string {
	if plain {
		return string(era) + "-plain"
	}
	return string(era)
}

// Every mode is one that no answer comes of, and all of them end.
func TestEveryModeEndsTheCallAndIsCounted(t *testing.T) {
	store := hostile.Open(t)
	seen := map[string]bool{}
	for i, mode := range hostile.Modes() {
		if seen[mode.Name] {
			t.Errorf("two modes are called %s", mode.Name)
		}
		seen[mode.Name] = true
		t.Run(mode.Name, func(t *testing.T) {
			t.Parallel()
			up := hostile.Start(t, hostile.Options{On: map[string]hostile.Script{"tools/call": mode.Script}})
			server := hostile.Keys{"max_result_bytes": 64 << 10}
			if strings.HasPrefix(mode.Name, "stall") || strings.HasPrefix(mode.Name, "drip") {
				server["request_timeout_ms"] = 2000 // only time ends them
			}
			relay := hostile.Relay(t, up, hostile.Setup{Store: store, Tenant: fmt.Sprintf("tenant-%d", i), Server: server})
			reply := relay.Call(t, hostile.Ask{})
			if reply.Record.Outcome == call.Answered || reply.Error().Reason == "" {
				t.Errorf("got %s", reply.Body)
			}
			if up.Calls() != 1 || reply.Record.Posts != 1 {
				t.Errorf("%d calls, the record counts %d, want 1: %s %s", up.Calls(), reply.Record.Posts, reply.Record.Reason, reply.Record.Detail)
			}
		})
	}
}

func TestEveryBadCertificateIsRefusedBeforeARequest(t *testing.T) {
	store := hostile.Open(t)
	kinds := map[string]hostile.TLS{
		"another protocol": {Protocols: []string{"acme-tls/1"}}, // h2 alone lets HTTP/1.1 pass
		"TLS 1.1":          {Max: tls.VersionTLS11},
		"no TLS":           {Instead: func(c *hostile.Conn) { c.Send("HTTP/1.1 400 Bad Request\r\n\r\n"); c.FIN() }},
		"a reset": {Instead: func(c *hostile.Conn) {
			_, _ = c.Read(make([]byte, 1)) // of the hello, so that the connection is there
			c.Reset()
		}},
	}
	for _, kind := range hostile.BadCertificates() {
		kinds[string(kind)] = hostile.TLS{Certificate: kind}
	}
	for name, kind := range kinds {
		up := hostile.Start(t, hostile.Options{TLS: kind})
		relay := hostile.Relay(t, up, hostile.Setup{Store: store})
		if reply := relay.Call(t, hostile.Ask{}); reply.Record.Reason != call.TLS || len(up.Requests()) != 0 {
			t.Errorf("%s: %s %s, the server saw %v", name, reply.Record.Reason, reply.Record.Detail, up.Sequence())
		}
	}
}

func TestARequestIsKeptAsItCame(t *testing.T) {
	up := hostile.Start(t, hostile.Options{Host: "127.0.0.1", TLS: hostile.TLS{Plain: true}, Lenient: true})
	body := `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"echo","arguments":{"n":1e2}}}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, up.URL(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Origin", "https://evil.example")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	got := up.Last("tools/call")
	want := hostile.Request{Verb: "POST", Target: "/mcp", Host: up.Authority(), Method: "tools/call", ID: `"a"`, Name: "echo", Arguments: `{"n":1e2}`, Connection: 1, Body: []byte(body)}
	if !strings.Contains(got.Head, "Origin: https://evil.example") {
		t.Errorf("head %q", got.Head)
	}
	got.Head, got.Header, got.Params = "", nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	faults := strings.Join(up.Faults(), "\n")
	for _, want := range []string{"Origin must not be sent", "Accept is", "Content-Type is", "MCP-Protocol-Version is"} {
		if !strings.Contains(faults, want) {
			t.Errorf("faults lack %q:\n%s", want, faults)
		}
	}
}

func TestASessionIsOpenUntilItIsLostOrEnded(t *testing.T) {
	up := hostile.Start(t, hostile.Options{Era: hostile.Legacy})
	relay := hostile.Relay(t, up, hostile.Setup{})
	relay.Call(t, hostile.Ask{}).Answered("")
	up.LoseSessions()
	relay.Call(t, hostile.Ask{}).Answered("")
	if got := up.Sessions(); len(got) != 1 || up.Count("initialize") != 2 || up.Calls() != 3 {
		t.Errorf("sessions %v, requests %v", got, up.Sequence())
	}
}
