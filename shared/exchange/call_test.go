package exchange_test

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
)

func TestErrorOfTheServerIsTheAnswerWhateverItsStatus(t *testing.T) {
	const body = `{"code":-32050,"message":"quota <&>","data":{"n":9007199254740993,"f":1.0}}`
	for _, status := range []int{200, 400, 404, 409, 422, 429, 500, 502, 503} {
		for _, id := range []string{"ID", `"ID"`, "null"} { // a POST holds one request: an error without an id is about it
			answer := says(status, "application/json", `{"jsonrpc":"2.0","id":`+id+`,"error":`+body+`}`, "Retry-After: 7")
			for era, p := range map[session.Era]*peer{session.Modern: newPeer(t, modern(answer)), session.Legacy: newLegacyPeer(t, answer)} {
				reply, err := process(t, nil).Call(t.Context(), request(t, p.url))
				if err != nil {
					t.Errorf("%s %d with id %s: %v", era, status, id, err)
					continue
				}
				if reply.Error == nil || string(reply.Error.Raw) != body || reply.Error.Code != -32050 || reply.Result != nil {
					t.Errorf("%s %d with id %s: got %+v", era, status, id, reply.Error)
				}
				if f := reply.Facts; f.Status != status || f.RetryAfter != 7 || f.Posts != 1 || f.Era != era || p.posts("tools/call") != 1 {
					t.Errorf("%s %d with id %s: got %+v", era, status, id, f)
				}
			}
		}
	}
}

func TestResultsOfEveryShapePass(t *testing.T) {
	for name, tc := range map[string]struct {
		result, kind string
		isError      bool
	}{
		"structured only":  {`{"structuredContent":[1.0]}`, "", false},
		"empty content":    {`{"content":[]}`, "", false},
		"tool error":       {`{"isError":true,"content":[]}`, "", true},
		"unknown members":  {`{"zzz":{"a":[]},"content":[{"type":"zzz"}]}`, "", false},
		"complete":         {`{"resultType":"complete","content":[]}`, "complete", false},
		"input required":   {`{"resultType":"input_required","inputRequests":{}}`, "input_required", false},
		"task":             {`{"resultType":"task","taskId":"t"}`, "task", false},
		"structured array": {`{"structuredContent":[],"content":[]}`, "", false},
	} {
		p := newPeer(t, modern(saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":`+tc.result+`}`)))
		reply, err := process(t, nil).Call(t.Context(), request(t, p.url))
		if err != nil || string(reply.Result) != tc.result || reply.IsError != tc.isError || reply.ResultType != tc.kind {
			t.Errorf("%s: got %v, %s, isError %v, resultType %q", name, err, reply.Result, reply.IsError, reply.ResultType)
		}
	}
	p := newLegacyPeer(t, saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"task"}}`))
	if reply, err := process(t, nil).Call(t.Context(), request(t, p.url)); err != nil || reply.ResultType == "" {
		t.Errorf("want the resultType of a legacy server too, got %v, %q", err, reply.ResultType)
	}
}

func TestContentTypeAndEncodingAreReadLeniently(t *testing.T) {
	for name, answer := range map[string]script{
		"upper case":       func(w net.Conn, g got) { write(w, 200, "Application/JSON; Charset=UTF-8", result(g, hello)) },
		"broken parameter": func(w net.Conn, g got) { write(w, 200, "application/json; charset", result(g, hello)) },
		"identity": func(w net.Conn, g got) {
			write(w, 200, "application/json", result(g, hello), "Content-Encoding: identity")
		},
		"unrequested gzip": func(w net.Conn, g got) {
			write(w, 200, "application/json", zipped(result(g, hello)), "Content-Encoding: GZIP")
		},
		"gzip stream": func(w net.Conn, g got) {
			write(w, 200, "text/event-stream", zipped(event(result(g, hello))), "Content-Encoding: gzip")
		},
		"HTTP/1.0": func(w net.Conn, g got) {
			send(w, "HTTP/1.0 200\r\nContent-Type: application/json\r\n\r\n%s", result(g, hello))
			w.Close()
		},
		"no reason phrase": func(w net.Conn, g got) {
			b := result(g, hello)
			send(w, "HTTP/1.1 200\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(b), b)
		},
		"chunked": func(w net.Conn, g got) {
			b := result(g, hello)
			send(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: Chunked\r\n\r\n%x\r\n%s\r\n0\r\nX-Trailer: 1\r\n\r\n", len(b), b)
		},
		"five early hints": func(w net.Conn, g got) {
			send(w, "%s", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 5))
			answered(w, g)
		},
		"continue": func(w net.Conn, g got) { send(w, "HTTP/1.1 100 Continue\r\n\r\n"); answered(w, g) },
		"odd headers": func(w net.Conn, g got) {
			write(w, 200, "application/json", result(g, hello), "Alt-Svc: h3=\":443\"", "Refresh: 0; url=http://evil.example/", "Set-Cookie: a=b", "X-Ünï: ü")
		},
		"one byte at a time": func(w net.Conn, g got) {
			var b strings.Builder
			write(&b, 200, "application/json", result(g, hello))
			for i := range b.Len() {
				send(w, "%s", b.String()[i:i+1])
			}
		},
	} {
		if name == "odd headers" {
			answer = func(w net.Conn, g got) {
				write(w, 200, "application/json", result(g, hello), "Alt-Svc: h3=\":443\"", "Refresh: 0; url=http://evil.example/", "Set-Cookie: a=b", "Server: \xfc")
			}
		}
		p := newPeer(t, modern(answer))
		reply, err := process(t, nil).Call(t.Context(), request(t, p.url))
		if err != nil || string(reply.Result) != hello || p.posts("tools/call") != 1 {
			t.Errorf("%s: got %v, %s", name, err, reply.Result)
		}
	}
}

func TestReplyOfExactlyTheBoundPasses(t *testing.T) {
	for _, limit := range []int64{1 << 10, 0} { // 0 is the default of 1 MiB
		size := int(limit)
		if limit == 0 {
			size = exchange.DefaultResultBytes
		}
		for more, want := range map[int]call.Reason{0: call.OK, 1: call.ReplyTooLarge} {
			for name, headers := range map[string]string{"with a length": "", "chunked": "Transfer-Encoding: chunked"} {
				p := newPeer(t, modern(func(w net.Conn, g got) {
					begin, end := `{"jsonrpc":"2.0","id":`+g.ID+`,"result":{"a":"`, `"}}`
					body := begin + strings.Repeat("x", size+more-len(begin)-len(end)) + end
					if headers == "" {
						write(w, 200, "application/json", body)
						return
					}
					send(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n%s\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", headers, len(body), body)
				}))
				_, err := process(t, nil).Call(t.Context(), request(t, p.url, func(r *exchange.Request) { r.Limits.ResultBytes = limit }))
				if got := reasonOf(t, err); got != want {
					t.Errorf("%d and %d bytes %s: want %s, got %v", size, more, name, want, err)
				}
			}
		}
	}
}

func TestRedirectIsRecordedAndNotFollowed(t *testing.T) {
	for name, tc := range map[string]struct {
		location, host, detail string
	}{
		"same server":      {"/mcp/?token=secret", "127.0.0.1", `path "/mcp/"`},
		"itself, absolute": {"http://127.0.0.1/mcp/", "127.0.0.1", `path "/mcp/"`},
		"another host":     {"https://evil.example/collect?secret=1", "evil.example", "to another host"},
		"metadata":         {"http://169.254.169.254/latest", "169.254.169.254", "to another host"},
		"missing":          {"", "", "no usable Location"},
		"broken":           {"http://[::1", "", "no usable Location"},
		"upper case":       {"https://Token-ABC.Evil.example/", "Token-ABC.Evil.example", "to another host"},
	} {
		for _, status := range []int{300, 301, 302, 303, 304, 305, 306, 307, 308} {
			p := newPeer(t, modern(func(w net.Conn, g got) {
				headers := []string{"Connection: close"}
				if tc.location != "" {
					headers = append(headers, "Location: "+tc.location)
				}
				write(w, status, "text/html", "", headers...)
			}))
			reply, err := process(t, nil).Call(t.Context(), request(t, p.url))
			refusal := refusalOf(t, err)
			said := refusal.Detail + " " + strconv.Quote(string(refusal.Quote))
			if refusal.Reason != call.Redirect || refusal.Status != status || reply.Facts.Location != tc.host || !strings.Contains(said, tc.detail) {
				t.Errorf("%s %d: got %v with host %q", name, status, refusal, reply.Facts.Location)
			}
			if strings.Contains(said, "secret") || p.posts("tools/call") != 1 || len(p.methods()) != 2 {
				t.Errorf("%s %d: got %v, %v", name, status, refusal, p.methods())
			}
		}
	}
}

func TestChallengeIsRecordedAndNotFollowed(t *testing.T) {
	canary := newPeer(t, answered)
	challenge := `Bearer realm="x", scope="a b", error="invalid_token", resource_metadata="` + canary.url + `"`
	for _, name := range []string{"WWW-Authenticate", "x-amzn-remapped-www-authenticate"} {
		p := newPeer(t, modern(says(401, "", "", name+": "+challenge)))
		reply, err := process(t, nil).Call(t.Context(), request(t, p.url))
		if refusal := refusalOf(t, err); refusal.Status != 401 || refusal.MayHaveRun() != call.ImpactNone {
			t.Errorf("got %v", refusal)
		}
		if reply.Facts.Challenge != challenge {
			t.Errorf("want %s, got %s", challenge, reply.Facts.Challenge)
		}
	}
	if canary.connections() != 0 {
		t.Error("the challenge was followed")
	}
}

func TestRedirectToTheSameHostIsFoundInAnyCase(t *testing.T) {
	p := newPeer(t, modern(says(307, "", "", "Location: http://LocalHost/mcp/")))
	reply, err := process(t, nil).Call(t.Context(), request(t, strings.Replace(p.url, "127.0.0.1", "localhost", 1)))
	if refusal := refusalOf(t, err); reply.Facts.Location != "localhost" || string(refusal.Quote) != "/mcp/" {
		t.Errorf("got %v with host %q", refusal, reply.Facts.Location)
	}
}

// TestChallengeIsLongEnoughToBeMasked: a credential that a record's bound would
// cut is there whole, as the server wrote it.
func TestChallengeIsLongEnoughToBeMasked(t *testing.T) {
	const credential = "Token-ABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789"
	for _, headers := range [][]string{
		{"WWW-Authenticate: \xff" + strings.Repeat("x", 500) + credential},
		{"WWW-Authenticate: " + strings.Repeat("x", 500), "WWW-Authenticate: " + credential},
		{"WWW-Authenticate: " + strings.Repeat("x", exchange.MaxChallenge-len(credential)) + credential},
		{"X-Amzn-Remapped-WWW-Authenticate: " + strings.Repeat("x", 500) + credential},
	} {
		p := newPeer(t, modern(says(401, "", "", headers...)))
		reply, _ := process(t, nil).Call(t.Context(), request(t, p.url))
		if got := reply.Facts.Challenge; !strings.HasSuffix(got, credential) {
			t.Errorf("the credential was cut: %d bytes", len(got))
		}
	}
	p := newPeer(t, modern(says(403, "", "", "WWW-Authenticate: \xff"+strings.Repeat("x", 60<<10))))
	reply, _ := process(t, nil).Call(t.Context(), request(t, p.url))
	got := reply.Facts.Challenge
	if len(got) != exchange.MaxChallenge || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Errorf("want %d visible bytes, got %d", exchange.MaxChallenge, len(got))
	}
}

func TestRetryAfterIsPassedOnInSeconds(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]int{
		"7": 7, "0": 0, "3600": 3600, "3601": 3600, "99999999999": 3600, "-5": 0, "": 0, "soon": 0, "1e3": 0,
		now.Add(90 * time.Second).Format(http.TimeFormat): 90,
		now.Add(-time.Hour).Format(http.TimeFormat):       0,
		now.Add(48 * time.Hour).Format(http.TimeFormat):   3600,
	} {
		for _, status := range []int{429, 503} {
			p := newPeer(t, modern(says(status, "", "", "Retry-After: "+value)))
			x := process(t, nil, func(c *exchange.Config) { c.Now = func() time.Time { return now } })
			_, err := x.Call(t.Context(), request(t, p.url))
			if refusal := refusalOf(t, err); refusal.Reason != call.UpstreamStatus || refusal.RetryAfter != want || refusal.Status != status {
				t.Errorf("%q: want %d, got %v with %d", value, want, refusal, refusal.RetryAfter)
			}
		}
	}
}

func TestUnusableRequestIsRefusedBeforeAnythingIsSent(t *testing.T) {
	p := newPeer(t, modern(answered))
	for name, change := range map[string]func(*exchange.Request){
		"no session key": func(r *exchange.Request) { r.Session = "" },
		"no origin key":  func(r *exchange.Request) { r.Origin = "" },
		"no tool":        func(r *exchange.Request) { r.Tool = "" },
		"no operation":   func(r *exchange.Request) { r.Operation = "" },
		"discover":       func(r *exchange.Request) { r.Operation = call.OperationDiscover },
	} {
		if _, err := process(t, nil).Call(t.Context(), request(t, p.url, change)); reasonOf(t, err) != call.Internal {
			t.Errorf("%s: want internal, got %v", name, err)
		}
	}
	if p.connections() != 0 {
		t.Error("a connection was opened")
	}
}
