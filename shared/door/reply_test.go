package door_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

const get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"

func TestARepliesFraming(t *testing.T) {
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		status  int
		length  int64 // -1: chunked
		body    string
	}{
		"nothing":       {func(http.ResponseWriter, *http.Request) {}, 200, 0, ""},
		"status":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202); w.WriteHeader(500) }, 202, 0, ""},
		"informational": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(202) }, 202, 0, ""},
		"no content": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(204)
			if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrBodyNotAllowed) {
				panic(err)
			}
		}, 204, 0, ""},
		"parts": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "4")
			_, _ = io.WriteString(w, "ab")
			_, _ = io.WriteString(w, "cd")
			if _, err := io.WriteString(w, "e"); !errors.Is(err, http.ErrContentLength) {
				panic(err)
			}
		}, 200, 4, "abcd"},
		"no length": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(nil)
			_, _ = io.WriteString(w, "ab")
			_, _ = io.WriteString(w, "cd")
		}, 200, -1, "abcd"},
		"line break in a header": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", "a\r\nContent-Length: 9")
			w.Header().Set("Content-Length", "1")
			_, _ = io.WriteString(w, "a")
		}, 200, 1, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			_, addr, _ := opened(t, test.handler)
			c := dial(t, addr)
			for range 2 { // the second would show what the first left behind
				resp, body := c.send(get).reply("GET")
				if resp.StatusCode != test.status || resp.ContentLength != test.length || body != test.body {
					t.Errorf("got %d, length %d, %q", resp.StatusCode, resp.ContentLength, body)
				}
			}
		})
	}
}

func TestAFlushIsSeenBeforeTheHandlerEnds(t *testing.T) {
	taken := make(chan struct{})
	_, addr, _ := opened(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-taken
		_, _ = io.WriteString(w, "second\n")
	})
	resp, err := http.ReadResponse(dial(t, addr).send(get).r, nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(resp.Body)
	if line, err := lines.ReadString('\n'); line != "first\n" {
		t.Errorf("got %q, %v", line, err)
	}
	close(taken)
	if rest, err := io.ReadAll(lines); string(rest) != "second\n" || err != nil {
		t.Errorf("got %q, %v", rest, err)
	}
}

func TestAReplyShorterThanDeclaredEndsTheConnection(t *testing.T) {
	_, addr, _ := opened(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4")
		_, _ = io.WriteString(w, "ab")
	})
	resp, err := http.ReadResponse(dial(t, addr).send(get).r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); string(body) != "ab" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q, %v", body, err)
	}
}

func TestAPanicEndsItsConnectionAlone(t *testing.T) {
	_, addr, _ := opened(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panic" {
			panic(http.ErrAbortHandler)
		}
		echo(w, r)
	})
	other := dial(t, addr)
	dial(t, addr).send("GET /panic HTTP/1.1\r\nHost: h\r\n\r\n").ends()
	if _, got := other.send(get).reply("GET"); got != "short GET /a " {
		t.Errorf("got %q", got)
	}
}

// A client that is answered before it has sent everything must see the answer.
func TestABodyThatNobodyReadsEndsTheConnectionAfterTheReply(t *testing.T) {
	_, addr, _ := opened(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	c := dial(t, addr).send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 200000\r\n\r\n" + strings.Repeat("x", 100000))
	resp, _ := c.reply("POST")
	if resp.StatusCode != http.StatusForbidden || !resp.Close {
		t.Errorf("got %d, close %v", resp.StatusCode, resp.Close)
	}
	c.ends()
}

func TestAHandlerMayEndTheConnection(t *testing.T) {
	_, addr, _ := opened(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
	c := dial(t, addr).send(get)
	if resp, _ := c.reply("GET"); !resp.Close {
		t.Error("the reply does not say so")
	}
	c.ends()
}

func TestAReadDeadlineEndsTheWaitForABody(t *testing.T) {
	ended := make(chan error, 2)
	_, addr, _ := opened(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if err := control.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Error(err)
		}
		_, err := io.ReadAll(r.Body)
		ended <- err
		// Lifted, it ends nothing any more.
		if err := control.SetReadDeadline(time.Time{}); err != nil {
			t.Error(err)
		}
		_, err = io.ReadAll(r.Body)
		ended <- err
	})
	c := dial(t, addr).send(post + "a")
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	c.send("bcd")
	if err := <-ended; err != nil {
		t.Errorf("got %v after the deadline was lifted", err)
	}
}

func TestAWriteDeadlineEndsTheWaitForAReader(t *testing.T) {
	ended := make(chan error, 1)
	_, addr, _ := opened(t, func(w http.ResponseWriter, _ *http.Request) {
		if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Error(err)
		}
		var err error
		for part := make([]byte, 1<<20); err == nil; {
			_, err = w.Write(part)
		}
		ended <- err
	})
	dial(t, addr).send(get)
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestADeadlineOfOneRequestIsNotTheNextOnes(t *testing.T) {
	_, addr, _ := opened(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		soon := time.Now().Add(100 * time.Millisecond)
		if err := errors.Join(control.SetReadDeadline(soon), control.SetWriteDeadline(soon)); err != nil {
			t.Error(err)
		}
		echo(w, r)
	})
	c := dial(t, addr)
	for range 2 {
		if _, got := c.send(get).reply("GET"); got != "short GET /a " {
			t.Errorf("got %q", got)
		}
		pass(200 * time.Millisecond)
	}
}
