package exchange

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/net/http/httpguts"

	"mcprelay/shared/session"
)

const (
	// maxHead bounds the head of a reply, in bytes (SECURITY 4.2). It is the
	// size of the connection's buffer, so a head is read without being copied.
	maxHead = 64 << 10
	// maxHeaders bounds the lines of a head. Servers behind several proxies
	// send about 40.
	maxHeaders = 256
	// maxInformational is how many 1xx replies may come before the real one
	// (SECURITY 3.4, R15).
	maxInformational = 5
)

var (
	errHeadTooLarge = errors.New("reply head larger than its bound")
	errHead         = errors.New("malformed reply head")
)

// readHead reads past informational replies and leaves the reader at the head
// of the final one, which is complete, bounded and checked.
func readHead(r *bufio.Reader) error {
	for range maxInformational + 1 {
		head, err := peekHead(r)
		if err != nil {
			return err
		}
		if err := checkHead(head); err != nil {
			return err
		}
		if head[len("HTTP/1.1 ")] != '1' {
			return nil
		}
		if bytes.HasPrefix(head[len("HTTP/1.1 "):], []byte("101")) {
			return fmt.Errorf("%w: the server switches protocols", errHead)
		}
		if _, err := r.Discard(len(head)); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: more than %d informational replies", errHead, maxInformational)
}

// peekHead waits for a whole head, up to and with its empty line, without
// taking it off the reader. It stops at the first byte that shows that no head
// is coming: a peer that speaks something else would keep it waiting.
func peekHead(r *bufio.Reader) ([]byte, error) {
	const begin = "HTTP/1."
	line := 0 // where the line that is not complete yet begins
	for {
		b, _ := r.Peek(min(r.Buffered(), maxHead))
		if n := min(len(b), len(begin)); string(b[:n]) != begin[:n] {
			return nil, quoting(fmt.Errorf("%w: it begins with", errHead), b)
		}
		for {
			n := bytes.IndexByte(b[line:], '\n')
			if n < 0 {
				break
			}
			if n == 0 || b[line+n-1] != '\r' {
				return nil, fmt.Errorf("%w: a line ends without CR", errHead)
			}
			line += n + 1
			if n == 1 {
				return b[:line], nil
			}
		}
		if len(b) >= min(maxHead, r.Size()) {
			return nil, errHeadTooLarge
		}
		if _, err := r.Peek(len(b) + 1); err != nil {
			return nil, err
		}
	}
}

// checkHead refuses what [net/http.ReadResponse] would repair, hide or decide
// on its own (SECURITY 4.2): two readers of such a head see different replies.
// b is a whole head as [peekHead] gives it.
func checkHead(b []byte) error {
	status, rest, _ := bytes.Cut(b, []byte("\r\n"))
	if !statusLine(status) {
		return quoting(fmt.Errorf("%w: status line", errHead), status)
	}
	var seen framing
	for lines := 0; ; lines++ {
		line, after, ok := bytes.Cut(rest, []byte("\r\n"))
		if !ok || len(line) == 0 {
			break
		}
		if lines == maxHeaders {
			return errHeadTooLarge
		}
		if err := seen.add(line); err != nil {
			return err
		}
		rest = after
	}
	if seen.length > 0 && seen.encoding > 0 {
		return fmt.Errorf("%w: Content-Length and Transfer-Encoding", errHead)
	}
	if seen.encoding > 0 && status[len("HTTP/1.")] == '0' {
		return fmt.Errorf("%w: Transfer-Encoding in HTTP/1.0", errHead)
	}
	return nil
}

// statusLine reports whether line is HTTP/1.x, a three-digit status and a
// reason phrase that may be empty (RFC 9112 section 4).
func statusLine(line []byte) bool {
	const shape = "HTTP/1.x ddd"
	if len(line) < len(shape) || !bytes.HasPrefix(line, []byte("HTTP/1.")) || !fieldText(line) {
		return false
	}
	if line[7] != '0' && line[7] != '1' || line[8] != ' ' {
		return false
	}
	for _, digit := range line[9:12] {
		if digit < '0' || digit > '9' {
			return false
		}
	}
	return line[9] >= '1' && (len(line) == len(shape) || line[12] == ' ')
}

// framing counts the header lines of which a reply may have one.
type framing struct{ length, encoding, session, kind, coding int }

// add checks one header line.
func (f *framing) add(line []byte) error {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || len(name) == 0 || !token(name) { // a folded line begins with a blank, which no name has
		return quoting(fmt.Errorf("%w: header line", errHead), line)
	}
	if !fieldText(value) {
		return quoting(fmt.Errorf("%w: control byte in header", errHead), name)
	}
	value = bytes.Trim(value, " \t")
	switch {
	case is(name, "Content-Length"):
		f.length++
		if _, err := strconv.ParseUint(string(value), 10, 63); err != nil {
			return quoting(fmt.Errorf("%w: Content-Length", errHead), value)
		}
		return once(f.length, name)
	case is(name, "Transfer-Encoding"):
		f.encoding++
		if !is(value, "chunked") {
			return quoting(fmt.Errorf("%w: Transfer-Encoding", errHead), value)
		}
		return once(f.encoding, name)
	case is(name, "Mcp-Session-Id"):
		f.session++
		if len(value) > 0 && session.CheckID(string(value)) != nil {
			return fmt.Errorf("%w: unusable Mcp-Session-Id of %d bytes", errHead, len(value))
		}
		return once(f.session, name)
	case is(name, "Content-Type"):
		f.kind++
		return once(f.kind, name)
	case is(name, "Content-Encoding"):
		f.coding++
		return once(f.coding, name)
	}
	return nil
}

func once(n int, name []byte) error {
	if n > 1 {
		return quoting(fmt.Errorf("%w: two headers", errHead), name)
	}
	return nil
}

func is(b []byte, name string) bool {
	return len(b) == len(name) && bytes.EqualFold(b, []byte(name))
}

func token(name []byte) bool {
	for _, b := range name {
		if !httpguts.IsTokenRune(rune(b)) {
			return false
		}
	}
	return true
}

// fieldText reports whether value holds only what RFC 9110 section 5.5 allows:
// no control byte but the tab. Bytes over 0x7F are legal there.
func fieldText(value []byte) bool {
	for _, b := range value {
		if b < ' ' && b != '\t' || b == 0x7F {
			return false
		}
	}
	return true
}

// maxQuote bounds what is kept of the bytes that a server sent, so that a
// credential among them can be found whole by whoever masks them.
const maxQuote = 32 << 10

// quotation is an error with the bytes of the server that caused it. They are
// not in its text.
type quotation struct {
	error
	bytes []byte
}

// Unwrap gives the error.
func (q *quotation) Unwrap() error { return q.error }

func quoting(err error, b []byte) error { return &quotation{err, clip(b)} }

// clip copies the beginning of b, which is a buffer that will be used again.
func clip(b []byte) []byte { return bytes.Clone(b[:min(len(b), maxQuote)]) }

// quoted is what err quotes, nil for nothing.
func quoted(err error) []byte {
	var q *quotation
	if errors.As(err, &q) {
		return q.bytes
	}
	return nil
}
