package demo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/demo"
)

func start(t *testing.T) *demo.Server {
	t.Helper()
	s, err := demo.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return s
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// post sends one raw message in the shape of an era and returns the reply's bytes.
func post(t *testing.T, url, body string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(out)
}

func postModern(t *testing.T, url, tool, arguments string) (int, string) {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, tool, arguments, modernMeta)
	return post(t, url, body, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool)
}

func postLegacy(t *testing.T, url, tool, arguments string) (int, string) {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
	return post(t, url, body, "MCP-Protocol-Version", "2025-11-25")
}

func TestEchoKeepsTheBytesOfItsArguments(t *testing.T) {
	url := start(t).URL()
	const arguments = `{"z":9007199254740993, "a" : 1.0,"e":1e2,"html":"<&>","esc":"\u00e9\/\ud83d\ude00","deep":[{"y":[],"x":{}}],"text":"hi"}`
	for era, send := range map[string]func(*testing.T, string, string, string) (int, string){
		"modern": postModern, "legacy": postLegacy,
	} {
		t.Run(era, func(t *testing.T) {
			status, reply := send(t, url, "echo", arguments)
			if want := `"structuredContent":` + arguments; status != 200 || !strings.Contains(reply, want) {
				t.Errorf("want 200 with %s, got %d %s", want, status, reply)
			}
			if want := `"text":"hi"}]`; !strings.Contains(reply, want) {
				t.Errorf("want the text in the content, got %s", reply)
			}
		})
	}
}

func TestEchoDropsLineBreaksBetweenTokensOnly(t *testing.T) {
	_, reply := postModern(t, start(t).URL(), "echo", "{\n \"a\":\r\n 1}")
	if want := `"structuredContent":{ "a": 1}`; !strings.Contains(reply, want) {
		t.Errorf("want %s, got %s", want, reply)
	}
}

func TestEchoIsNotFooledByItsOwnStandIn(t *testing.T) {
	const arguments = `{"text":"\"structuredContent\":\"@raw\"","n":1.0}`
	_, reply := postModern(t, start(t).URL(), "echo", arguments)
	if want := `"structuredContent":` + arguments; !strings.Contains(reply, want) {
		t.Errorf("want %s, got %s", want, reply)
	}
}

func TestModernResultsAreComplete(t *testing.T) {
	_, reply := postModern(t, start(t).URL(), "fail", `{}`)
	for _, want := range []string{`"resultType":"complete"`, `"isError":true`} {
		if !strings.Contains(reply, want) {
			t.Errorf("want %s in %s", want, reply)
		}
	}
}

func TestInitializeMintsNoSession(t *testing.T) {
	url := start(t).URL()
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	resp, err := http.DefaultClient.Do(func() *http.Request {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		return req
	}())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"protocolVersion":"2025-11-25"`; !strings.Contains(string(out), want) {
		t.Errorf("want %s, got %s", want, out)
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		t.Errorf("want no session id, got %q", id)
	}
}

func TestNothingIsServedBesideTheEndpoint(t *testing.T) {
	url := strings.TrimSuffix(start(t).URL(), "/mcp")
	resp, err := http.Get(url + "/.well-known/oauth-protected-resource")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("want 404, got %d", resp.StatusCode)
	}
}

func TestStartRefusesAddressesThatOthersCanReach(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "10.0.0.1:0", "[::]:0", "localhost:0", "example.com:80"} {
		if s, err := demo.Start(t.Context(), addr); !errors.Is(err, demo.ErrNotLoopback) {
			t.Errorf("%s: want ErrNotLoopback, got %v", addr, err)
			if s != nil {
				_ = s.Close()
			}
		}
	}
}

func TestStartSaysWhyItCannotListen(t *testing.T) {
	taken := strings.TrimSuffix(strings.TrimPrefix(start(t).URL(), "http://"), "/mcp")
	for _, addr := range []string{"127.0.0.1", taken} {
		if _, err := demo.Start(t.Context(), addr); err == nil || !strings.Contains(err.Error(), "demo server") {
			t.Errorf("%s: want an error that names the demo server, got %v", addr, err)
		}
	}
}

func TestCloseEndsTheListener(t *testing.T) {
	s, err := demo.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: 5 * time.Second}
	if resp, err := client.Get(s.URL()); err == nil {
		resp.Body.Close()
		t.Error("want a connection error after Close, got an answer")
	}
}

func TestTheEndOfTheContextEndsACallInFlight(t *testing.T) {
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			s, err := demo.Start(ctx, "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			send := postModern
			if era == "legacy" {
				send = postLegacy
			}
			began := time.Now()
			done := make(chan string)
			go func() {
				_, reply := send(t, s.URL(), "countdown", `{"from":20,"pause_ms":1000}`)
				done <- reply
			}()
			cancel()
			if reply := <-done; strings.Contains(reply, "lift-off") || time.Since(began) > 10*time.Second {
				t.Errorf("want the call cut short, got %s after %s", reply, time.Since(began))
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
