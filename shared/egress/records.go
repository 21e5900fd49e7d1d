package egress

import (
	"bufio"
	"net"
)

// The sizes of TLS records (RFC 8446 section 5.2, RFC 5246 section 6.2.3).
const (
	recordHead  = 5
	recordsSize = 32 << 10 // holds the longest record with its head
)

// records lies between TLS and TCP and hands TLS no byte beyond the record it
// asked for. What a server sent too early is therefore either still in the
// kernel, where a peek sees it, or in this buffer, where unread sees it; TLS
// itself would hide it until the connection's next use.
type records struct {
	net.Conn
	buffer *bufio.Reader
	left   int  // bytes of the current record not handed out
	held   bool // reads fail, without harm to TLS
}

func newRecords(conn net.Conn) *records {
	return &records{Conn: conn, buffer: bufio.NewReaderSize(conn, recordsSize)}
}

// Read hands out at most the rest of the current record.
func (r *records) Read(p []byte) (int, error) {
	if r.held {
		return 0, heldError{}
	}
	if r.left == 0 {
		head, err := r.buffer.Peek(recordHead)
		if err != nil {
			return 0, err
		}
		r.left = recordHead + int(head[3])<<8 + int(head[4])
	}
	n, err := r.buffer.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

// unread reports whether bytes came in that TLS has not asked for.
func (r *records) unread() bool { return r.left > 0 || r.buffer.Buffered() > 0 }

// heldError looks like a passing fault, which TLS does not remember.
type heldError struct{}

func (heldError) Error() string   { return "reading is on hold" }
func (heldError) Timeout() bool   { return true }
func (heldError) Temporary() bool { return true }
