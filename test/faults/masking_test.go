package faults_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/test/hostile"
	"mcprelay/test/invariant"
)

// odd is a credential with every kind of character that a bearer token may
// have (RFC 6750 section 2.1).
const odd = "up+stream/credential~9.A_b-=="

// spellings are texts in a JSON string that hold the secret, and what an agent
// gets of each.
func spellings(secret string) map[string][2]string {
	all := map[string][2]string{}
	put := func(name, form string) { all[name] = [2]string{"x " + form + " y", "x [redacted] y"} }
	for name, form := range invariant.Forms(secret) {
		put(name, form)
	}
	var each, some strings.Builder
	for i, b := range []byte(secret) {
		fmt.Fprintf(&each, `\u%04x`, b)
		if i%3 == 0 {
			fmt.Fprintf(&some, `\u%04X`, b)
		} else {
			some.WriteByte(b)
		}
	}
	put("each character escaped", each.String())
	put("some characters escaped", some.String())
	put("as JSON in JSON", strings.ReplaceAll(some.String(), `\`, `\\`))
	for _, before := range []string{"", "u", "us", "user:"} {
		whole := base64.StdEncoding.EncodeToString([]byte(before + secret + "!"))
		masked := whole
		for name, form := range invariant.Forms(secret) {
			if strings.HasPrefix(name, "in base64 at") {
				masked = strings.Replace(masked, form, "[redacted]", 1)
			}
		}
		all["in base64 behind "+before] = [2]string{whole, masked}
	}
	return all
}

func echoedBack(t *testing.T, k *stage) {
	t.Run("in a result", func(t *testing.T) {
		setup := hostile.Setup{Credential: func() (string, string) { return odd, "v1" }}
		k.eras(t, setup, func(t *testing.T, s *scene) {
			s.secrets = []string{odd}
			for name, texts := range spellings(odd) {
				s.under(name, func(s *scene) {
					says := func(i int) string { return `{"content":[{"type":"text","text":"` + texts[i] + `"}]}` }
					s.on(hostile.Result(says(0)))
					s.ask(hostile.Ask{}, want{result: says(1), masked: 1})
				})
			}
		})
	})
	const secret, mask = hostile.Token, "[redacted]"
	// Where it stands: all of a result, an error, and what goes with them.
	result := `{"content":[{"type":"text","text":"` + secret + `"}],"structuredContent":{"` + secret + `":["` + secret + secret + `"]},"isError":false,"_meta":{"x":"` + secret + `"}}`
	failure := `{"code":-32603,"message":"` + secret + `","data":{"header":"Bearer ` + secret + `"}}`
	// How it comes: pieces of one character, in chunks and records of their own,
	// behind events that say it too.
	message := `{"jsonrpc":"2.0","id":$ID,"result":` + result + `}`
	event := hostile.Event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + secret + `"}}`)
	behind := []string{event, ": " + secret + "\n\n", "id: " + secret + "\nevent: message\n", "data: " + `{"jsonrpc":"2.0",` + "\n"}
	rest := strings.TrimPrefix(message, `{"jsonrpc":"2.0",`)
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		masked := strings.ReplaceAll(result, secret, mask)
		for _, v := range []variant{
			{"in one body", hostile.JSON(message)},
			{"in one event", hostile.Stream(hostile.Event(message))},
			{"in pieces", split(message)},
			{"in chunks", func(c *hostile.Conn, r hostile.Request) {
				hostile.Stream(append(behind, strings.Split("data: "+r.Fill(rest)+"\n\n", "")...)...)(c, r)
			}},
			{"compressed", hostile.Zipped("gzip", message)},
		} {
			s.under(v.name, func(s *scene) {
				s.on(v.script)
				before := 0
				if v.name == "in chunks" {
					before = 1 // the message before the result, which only the MCP face shows
				}
				if reply := s.ask(hostile.Ask{}, want{result: masked, masked: 5 + before}); strings.Count(fmt.Sprint(reply.Notes), mask) != before {
					t.Errorf("got the notifications %q, want %d that is masked", reply.Notes, before)
				}
				s.ask(hostile.Ask{Plain: true}, want{result: masked, masked: 5})
			})
		}
		s.on(hostile.Status(http.StatusBadRequest, "application/json", `{"jsonrpc":"2.0","id":$ID,"error":`+failure+`}`))
		s.ask(hostile.Ask{}, want{failure: strings.ReplaceAll(failure, secret, mask), masked: 2, status: http.StatusBadRequest, code: -32603})
	})
	t.Run("in a refusal", func(t *testing.T) { echoedInRefusals(t, k) })
	t.Run("in a list", func(t *testing.T) {
		s := k.set(t, hostile.Options{Tools: []string{`{"name":"echo","description":"` + secret + `","inputSchema":{"type":"object"}}`}}, hostile.Setup{})
		reply := s.relay.Ask(t.Context(), t, hostile.Ask{Method: "tools/list"})
		if !strings.Contains(reply.Result(), `"description":"[redacted]"`) {
			t.Errorf("got %s, want it masked", reply.Body)
		}
		s.check()
	})
}

// split writes a reply whose body comes byte by byte.
func split(body string) hostile.Script {
	return func(c *hostile.Conn, r hostile.Request) {
		body := r.Fill(body)
		c.Send(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body)))
		c.Pieces(strings.Split(body, "")...)
	}
}

// echoedInRefusals: what is kept of a reply that is none, for operators.
func echoedInRefusals(t *testing.T, k *stage) {
	const secret = hostile.Token
	s := k.warm(t, hostile.Legacy, hostile.Setup{})
	for _, row := range []struct {
		name   string
		script hostile.Script
		want   want
	}{
		{"an error page", hostile.Status(500, "text/plain", "key "+secret+" is unknown"), want{reason: call.UpstreamStatus, status: 500, detail: "key [redacted] is unknown"}},
		{"a type", hostile.Status(200, "text/"+secret, ""), want{reason: call.ContentType, status: 200, detail: "text/[redacted]"}},
		{"a status line", hostile.Bytes("HTTP/1.1 20 " + secret + "\r\n\r\n"), want{reason: call.Protocol, detail: "20 [redacted]"}},
		{"a header line", hostile.Bytes("HTTP/1.1 200 OK\r\n" + secret + "\r\n\r\n"), want{reason: call.Protocol, detail: `"[redacted]"`}},
		{"no HTTP", hostile.Bytes("ERR " + secret + "\r\n\r\n"), want{reason: call.Protocol, detail: `"ERR [redacted]`}},
		{"no JSON", hostile.JSON("not " + secret), want{reason: call.Protocol, status: 200, detail: `"not [redacted]"`}},
		{"no message", hostile.Stream(hostile.Event("not " + secret)), want{reason: call.Protocol, status: 200}},
		{"a host", hostile.Status(307, "", "", "Location: https://"+secret+".example.net/"), want{reason: call.Redirect, status: 307, location: "[redacted].example.net"}},
		{"a path", hostile.Status(308, "", "", "Location: /x/"+secret), want{reason: call.Redirect, status: 308, location: "up.mcp.localhost", detail: "/x/[redacted]"}},
		{"a query", hostile.Status(308, "", "", "Location: /x?y="+secret), want{reason: call.Redirect, status: 308, location: "up.mcp.localhost"}},
		{"a user", hostile.Status(302, "", "", "Location: https://"+secret+"@example.net/"), want{reason: call.Redirect, status: 302, location: "example.net"}},
	} {
		s.under(row.name, func(s *scene) {
			s.on(row.script)
			s.both(row.want)
		})
	}
}
