package exchange_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"mcprelay/shared/exchange"
)

const plainHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n"

func TestHeadThatServersSendIsAccepted(t *testing.T) {
	for name, head := range map[string]string{
		"plain":             plainHead,
		"HTTP/1.0":          "HTTP/1.0 200 OK\r\n\r\n",
		"no reason":         "HTTP/1.1 200\r\n\r\n",
		"empty reason":      "HTTP/1.1 200 \r\n\r\n",
		"obsolete reason":   "HTTP/1.1 200 \xfc\r\n\r\n",
		"chunked":           "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n",
		"tab and blanks":    "HTTP/1.1 200 OK\r\nX-A:\t a\tb \t\r\n\r\n",
		"empty value":       "HTTP/1.1 200 OK\r\nX-A:\r\n\r\n",
		"repeated others":   "HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n",
		"session id":        "HTTP/1.1 200 OK\r\nmcp-session-id: abc~\r\n\r\n",
		"empty session id":  "HTTP/1.1 200 OK\r\nMcp-Session-Id:\r\n\r\n",
		"odd token":         "HTTP/1.1 200 OK\r\n!#$%&'*+-.^_`|~: x\r\n\r\n",
		"length of zero":    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"256 headers":       "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 256) + "\r\n",
		"unknown status":    "HTTP/1.1 999 Odd\r\n\r\n",
		"after five others": strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 5) + plainHead,
	} {
		r := bufio.NewReaderSize(strings.NewReader(head+"{}"), exchange.MaxHead)
		if err := exchange.ReadHead(r); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if response, err := http.ReadResponse(r, nil); err != nil || response.StatusCode < 200 {
			t.Errorf("%s: net/http reads %v", name, err)
		}
	}
}

func TestHeadThatTwoReadersReadDifferentlyIsRefused(t *testing.T) {
	for name, lines := range map[string]string{
		"length and coding":   "Content-Length: 2\r\nTransfer-Encoding: chunked",
		"two lengths":         "Content-Length: 2\r\nContent-Length: 2",
		"empty length":        "Content-Length:",
		"negative length":     "Content-Length: -2",
		"length with a sign":  "Content-Length: +2",
		"hexadecimal length":  "Content-Length: 0x2",
		"length with a tail":  "Content-Length: 2 2",
		"list of lengths":     "Content-Length: 2, 2",
		"length over 63 bits": "Content-Length: 9223372036854775808",
		"coding identity":     "Transfer-Encoding: identity",
		"coding with a tail":  "Transfer-Encoding: chunked, identity",
		"hidden coding":       "Transfer-Encoding: \x0bchunked",
		"two codings":         "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
		"folded":              "X-A: b\r\n c",
		"folded first":        " X-A: b",
		"blank in the name":   "X A: b",
		"blank before colon":  "Content-Length : 2",
		"no name":             ": b",
		"no colon":            "X-A",
		"NUL":                 "X-A: \x00",
		"escape":              "X-A: \x1b[2J",
		"DEL":                 "X-A: \x7f",
		"CR":                  "X-A: a\rb",
		"name of 0x80":        "X\x80: b",
		"two session ids":     "Mcp-Session-Id: a\r\nMCP-SESSION-ID: a",
		"session id in parts": "Mcp-Session-Id: a b",
		"two types":           "Content-Type: text/html\r\ncontent-type: application/json",
		"two encodings":       "Content-Encoding: gzip\r\nContent-Encoding: gzip",
	} {
		head := "HTTP/1.1 200 OK\r\n" + lines + "\r\n\r\n"
		if err := exchange.CheckHead([]byte(head)); !errors.Is(err, exchange.ErrHead) {
			t.Errorf("%s: want a malformed head, got %v", name, err)
		}
	}
	if err := exchange.CheckHead([]byte("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")); !errors.Is(err, exchange.ErrHead) {
		t.Errorf("want no chunks in HTTP/1.0, got %v", err)
	}
}

func TestStatusLineHasItsShape(t *testing.T) {
	for _, line := range []string{
		"HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 2x0 OK", "HTTP/1.1  200 OK", "HTTP/1.1\t200 OK", "HTTP/1.1 200OK",
		"HTTP/1.1 099 OK", "HTTP/1.2 200 OK", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 200 \x00", "HTTP/2.0 200 OK", "http/1.1 200 OK", "HTTP/11 200 OK",
	} {
		r := bufio.NewReaderSize(strings.NewReader(line+"\r\n\r\n"), exchange.MaxHead)
		if err := exchange.ReadHead(r); !errors.Is(err, exchange.ErrHead) {
			t.Errorf("%q: want a malformed head, got %v", line, err)
		}
	}
}

func TestHeadIsBounded(t *testing.T) {
	const line = "X-A: "
	fits := "HTTP/1.1 200 OK\r\n" + line
	fits += strings.Repeat("x", exchange.MaxHead-len(fits)-4) + "\r\n\r\n"
	for more, want := range map[string]error{"": nil, "x": exchange.ErrTooLarge} {
		head := strings.Replace(fits, line, line+more, 1)
		if err := exchange.ReadHead(bufio.NewReaderSize(strings.NewReader(head), exchange.MaxHead)); !errors.Is(err, want) {
			t.Errorf("%d bytes: want %v, got %v", len(head), want, err)
		}
		// A larger buffer moves no bound.
		if err := exchange.ReadHead(bufio.NewReaderSize(strings.NewReader(head), 4*exchange.MaxHead)); !errors.Is(err, want) {
			t.Errorf("%d bytes in a larger buffer: want %v, got %v", len(head), want, err)
		}
	}
	many := "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 257) + "\r\n"
	if err := exchange.CheckHead([]byte(many)); !errors.Is(err, exchange.ErrTooLarge) {
		t.Errorf("257 headers: want them refused, got %v", err)
	}
}

// TestHeadIsGivenUpAtItsFirstWrongByte: a peer that speaks something else, and
// waits, must not be waited for.
func TestHeadIsGivenUpAtItsFirstWrongByte(t *testing.T) {
	for _, begin := range []string{"S", "HTTP/2", "HTTQ", "\x16\x03\x01", "HTTP/1.1 200 OK\n", "HTTP/1.1 200 OK\r\nX: y\n"} {
		endless := io.MultiReader(strings.NewReader(begin), neverRead{t})
		if err := exchange.ReadHead(bufio.NewReaderSize(endless, exchange.MaxHead)); !errors.Is(err, exchange.ErrHead) {
			t.Errorf("%q: want it given up, got %v", begin, err)
		}
	}
}

// neverRead fails the test that reads it.
type neverRead struct{ t *testing.T }

func (r neverRead) Read([]byte) (int, error) {
	r.t.Error("it was read on")
	return 0, io.ErrUnexpectedEOF
}

func FuzzReadHead(f *testing.F) {
	for _, seed := range []string{plainHead, "HTTP/1.1 103 Early Hints\r\n\r\n" + plainHead, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nMcp-Session-Id: a\r\n\r\n", "HTTP/1.1 200 OK\nA: b\n\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		whole := bufio.NewReaderSize(bytes.NewReader(data), exchange.MaxHead)
		err := exchange.ReadHead(whole)
		pieces := exchange.ReadHead(bufio.NewReaderSize(iotest.OneByteReader(bytes.NewReader(data)), exchange.MaxHead))
		if (err == nil) != (pieces == nil) {
			t.Fatalf("whole: %v, in pieces: %v", err, pieces)
		}
		if err != nil {
			return
		}
		rest, _ := io.ReadAll(whole)
		response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(rest)), nil)
		if err != nil {
			return // refused too, later
		}
		if response.StatusCode < 200 {
			t.Fatalf("status %d got through", response.StatusCode)
		}
		head, _, _ := bytes.Cut(rest, []byte("\r\n\r\n"))
		lines := bytes.Count(head, []byte("\r\n"))
		values := 0
		for name, list := range response.Header {
			values += len(list)
			for _, value := range list {
				if strings.ContainsFunc(name+value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
					t.Fatalf("control byte in %q: %q", name, value)
				}
			}
		}
		// net/http moves the transfer coding and the trailer out of the header.
		moved := len(response.TransferEncoding)
		if _, trailers := bytes.CutPrefix(bytes.ToLower(head), []byte("trailer:")); trailers || bytes.Contains(bytes.ToLower(head), []byte("\ntrailer:")) {
			return
		}
		if values+moved != lines {
			t.Fatalf("%d lines are read as %d headers: %q", lines, values+moved, head)
		}
	})
}
