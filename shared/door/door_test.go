package door_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/door"
)

// patience bounds what is waited for: a loaded machine needs a part of it.
const patience = 10 * time.Second

// opened serves h and gives the server, its address, and what ends its calls.
func opened(t *testing.T, h http.HandlerFunc, change ...func(*http.Server)) (*door.Server, string, context.CancelFunc) {
	t.Helper()
	calls, cancel := context.WithCancel(context.Background())
	inner := &http.Server{
		Handler: h, ReadHeaderTimeout: patience, IdleTimeout: patience, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return calls },
	}
	for _, f := range change {
		f(inner)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := door.New(inner)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		cancel()
		bounded, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		if err := s.Shutdown(bounded); err != nil {
			t.Errorf("shutting down: %v", err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve gave %v", err)
		}
	})
	return s, l.Addr().String(), cancel
}

// pass lets time pass, where what must not happen in it is what is tested.
func pass(d time.Duration) { <-time.After(d) }

// client is a raw connection.
type client struct {
	*net.TCPConn
	t *testing.T
	r *bufio.Reader
}

func dial(t *testing.T, addr string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &client{conn.(*net.TCPConn), t, bufio.NewReader(conn)}
}

func (c *client) send(text string) *client {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
	return c
}

// reply reads one reply, to a request of this method.
func (c *client) reply(method string) (*http.Response, string) {
	c.t.Helper()
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("reading a reply: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("reading the body of a reply: %v", err)
	}
	return resp, string(body)
}

// ends waits for the end of the connection, before which nothing may come.
func (c *client) ends() {
	c.t.Helper()
	if b, err := c.r.ReadByte(); err == nil {
		c.t.Fatalf("got %q, want the end of the connection", b)
	} else if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		c.t.Fatal("the connection stayed open")
	}
}

// way says by which way a request came: net/http lets its handlers hijack.
func way(w http.ResponseWriter) string {
	if _, ok := w.(http.Hijacker); ok {
		return "long"
	}
	return "short"
}

// echo answers with the way, the method, the path and the body.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	text := fmt.Sprintf("%s %s %s %s", way(w), r.Method, r.URL.Path, body)
	w.Header().Set("Content-Length", fmt.Sprint(len(text)))
	_, _ = io.WriteString(w, text)
}

const post = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n"

func TestAConnectionCarriesRequestAfterRequest(t *testing.T) {
	_, addr, _ := opened(t, echo)
	c := dial(t, addr)
	for _, body := range []string{"one!", "two!"} {
		resp, got := c.send(post + body).reply("POST")
		if want := "short POST /a " + body; got != want || resp.StatusCode != 200 || resp.Close || resp.Header.Get("Date") == "" {
			t.Errorf("got %q with %v, want %q, a date and an open connection", got, resp.Header, want)
		}
	}
}

func TestWhatWasSentBehindARequestIsTheNext(t *testing.T) {
	_, addr, _ := opened(t, echo)
	c := dial(t, addr).send(post + "one!" + "GET /b HTTP/1.1\r\nHost: h\r\n\r\n" + post + "two!" +
		"GET /c HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + "GET /d HTTP/1.0\r\n\r\n")
	for _, want := range []string{"short POST /a one!", "short GET /b ", "short POST /a two!", "long GET /c ", "long GET /d "} {
		if _, got := c.reply("POST"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	c.ends()
}

func TestABodyMayComeLaterThanItsHead(t *testing.T) {
	_, addr, _ := opened(t, echo)
	c := dial(t, addr).send(post + "on")
	pass(3 * door.LookEvery) // long enough to be taken for gone, were it looked for wrongly
	if _, got := c.send("e!").reply("POST"); got != "short POST /a one!" {
		t.Errorf("got %q", got)
	}
}

func TestEveryOtherHeadIsLeftToNetHTTP(t *testing.T) {
	large := strings.Repeat("x", 9<<10)
	for name, test := range map[string]struct {
		sent   string
		method string
		status int
		body   string
	}{
		"chunked":            {"POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "POST", 200, "long POST /a abc"},
		"close":              {"GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "GET", 200, "long GET /a "},
		"HTTP/1.0":           {"GET /a HTTP/1.0\r\n\r\n", "GET", 200, "long GET /a "},
		"HEAD":               {"HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n", "HEAD", 200, ""},
		"large head":         {"GET /a HTTP/1.1\r\nHost: h\r\nX: " + large + "\r\n\r\n", "GET", 200, "long GET /a "},
		"head over bound":    {"GET /a HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat(large, 8) + "\r\n\r\n", "GET", 431, "431 Request Header Fields Too Large"},
		"two lengths":        {"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "POST", 400, "400 Bad Request"},
		"odd length":         {"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: +1\r\n\r\na", "POST", 400, "400 Bad Request"},
		"length and chunked": {"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "POST", 200, "long POST /a "},
		"unknown encoding":   {"POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: x\r\n\r\n", "POST", 501, "Unsupported transfer encoding"},
		"no host":            {"GET /a HTTP/1.1\r\n\r\n", "GET", 400, "400 Bad Request: missing required Host header"},
		"two hosts":          {"GET /a HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n", "GET", 400, "400 Bad Request"},
		"bare LF":            {"GET /a HTTP/1.1\r\nHost: h\nX: y\r\n\r\n", "GET", 200, "long GET /a "},
		"NUL":                {"GET /a HTTP/1.1\r\nHost: h\r\nX: \x00\r\n\r\n", "GET", 400, "400 Bad Request"},
		"folded line":        {"GET /a HTTP/1.1\r\nHost: h\r\nX: y\r\n z\r\n\r\n", "GET", 200, "long GET /a "},
		"blank in name":      {"GET /a HTTP/1.1\r\nHost: h\r\nX : y\r\n\r\n", "GET", 400, "400 Bad Request"},
		"another method":     {"PUT /a HTTP/1.1\r\nHost: h\r\n\r\n", "PUT", 200, "long PUT /a "},
		"whole address":      {"GET http://h/a HTTP/1.1\r\nHost: h\r\n\r\n", "GET", 200, "long GET /a "},
		"something else":     {"\x16\x03\x01\r\n\r\n", "GET", 400, "400 Bad Request"},
	} {
		t.Run(name, func(t *testing.T) {
			_, addr, _ := opened(t, echo)
			resp, got := dial(t, addr).send(test.sent).reply(test.method)
			if resp.StatusCode != test.status || !strings.HasPrefix(got, test.body) {
				t.Errorf("got %d %q, want %d %q", resp.StatusCode, got, test.status, test.body)
			}
		})
	}
}

func TestAClientThatExpectsIsToldToContinue(t *testing.T) {
	_, addr, _ := opened(t, echo)
	c := dial(t, addr).send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
	if resp, _ := c.reply("POST"); resp.StatusCode != 100 {
		t.Fatalf("got %d, want 100", resp.StatusCode)
	}
	if _, got := c.send("abcd").reply("POST"); got != "long POST /a abcd" {
		t.Errorf("got %q", got)
	}
}

func TestAHeadInPiecesIsOneHead(t *testing.T) {
	_, addr, _ := opened(t, echo)
	c := dial(t, addr).send("POST /a HT")
	pass(3 * door.LookEvery)
	if _, got := c.send("TP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nabcd").reply("POST"); got != "long POST /a abcd" {
		t.Errorf("got %q", got)
	}
}

func TestAPathThatCannotBeReadIsABadRequest(t *testing.T) {
	_, addr, _ := opened(t, echo)
	c := dial(t, addr).send("GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n")
	if resp, _ := c.reply("GET"); resp.StatusCode != 400 || !resp.Close {
		t.Errorf("got %d, close %v", resp.StatusCode, resp.Close)
	}
	c.ends()
}

func TestTheHandlerSeesWhatNetHTTPWouldShowIt(t *testing.T) {
	type view struct{ method, uri, host, remote, header, proto string }
	seen := make(chan view, 2)
	_, addr, _ := opened(t, func(w http.ResponseWriter, r *http.Request) {
		remote, _, _ := net.SplitHostPort(r.RemoteAddr)
		seen <- view{r.Method, r.RequestURI, r.Host, remote, fmt.Sprint(r.Header), r.Proto}
		w.WriteHeader(http.StatusNoContent)
	})
	const request = "GET /a%20b?c=d HTTP/1.1\r\nHost: h:1\r\nx-y:  z \r\nX-Y: \xe9\r\n\r\n"
	dial(t, addr).send(request).reply("GET")
	dial(t, addr).send(request[:8]).send(request[8:]).reply("GET")
	if short, long := <-seen, <-seen; short != long || short.host != "h:1" || short.remote != "127.0.0.1" {
		t.Errorf("got %+v and %+v", short, long)
	}
}
