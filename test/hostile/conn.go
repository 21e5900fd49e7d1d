package hostile

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Script answers one request on its connection. When it returns, the server
// reads the next request from there, unless the script has closed it.
type Script func(c *Conn, r Request)

// Conn is one connection. Its net.Conn is the TLS one where there is TLS, so
// what is written in one piece is one record. Errors of writing are dropped by
// all helpers: the relay may leave whenever it likes.
type Conn struct {
	net.Conn
	Number int // from 1, in the order the connections came
	socket *net.TCPConn
	reader *bufio.Reader
	server *Server
	state  tls.ConnectionState
}

// Send writes a text as it is.
func (c *Conn) Send(text string) { _, _ = io.WriteString(c.Conn, text) }

// Pieces writes each text by itself.
func (c *Conn) Pieces(pieces ...string) {
	for _, piece := range pieces {
		c.Send(piece)
	}
}

// Reply writes a whole reply with a Content-Length. An empty kind sends no
// Content-Type; headers are whole lines without their ends.
func (c *Conn) Reply(status int, kind, body string, headers ...string) {
	c.Send(head(status, kind, append(headers, fmt.Sprintf("Content-Length: %d", len(body)))...) + body)
}

// head is the head of a reply, with its empty line.
func head(status int, kind string, headers ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	if kind != "" {
		fmt.Fprintf(&b, "Content-Type: %s\r\n", kind)
	}
	for _, header := range headers {
		b.WriteString(header + "\r\n")
	}
	b.WriteString("\r\n")
	return b.String()
}

// Result answers r with a result, as JSON.
func (c *Conn) Result(r Request, result string) {
	c.Reply(http.StatusOK, "application/json", Response(r, result))
}

// Response is the message that answers r with a result.
func Response(r Request, result string) string {
	return `{"jsonrpc":"2.0","id":` + r.ID + `,"result":` + result + `}`
}

// Chunk writes one chunk of a reply with a transfer coding.
func (c *Conn) Chunk(text string) {
	if text != "" {
		c.Send(chunk(text))
	}
}

func chunk(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }

// LastChunk ends a reply with a transfer coding.
func (c *Conn) LastChunk() { c.Send("0\r\n\r\n") }

// Reset closes the connection with a TCP reset; what was sent before may be
// lost with it.
func (c *Conn) Reset() {
	_ = c.socket.SetLinger(0)
	c.socket.Close()
}

// FIN closes the connection in an orderly way, but without telling TLS.
func (c *Conn) FIN() { c.socket.Close() }

// AwaitGone waits until the relay has closed the connection, or the test ends.
func (c *Conn) AwaitGone() { _, _ = c.reader.Peek(1) }

// Repeat writes a text until the relay has closed the connection.
func (c *Conn) Repeat(text string) {
	for {
		if _, err := io.WriteString(c.Conn, text); err != nil {
			return
		}
	}
}

// Drip writes a text byte by byte, one each pause, and begins again at its end
// if again is set. It stops when the relay has closed the connection.
func (c *Conn) Drip(text string, pause time.Duration, again bool) {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		c.AwaitGone()
	}()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for i := 0; i < len(text) || again; i++ {
		select {
		case <-gone:
			return
		case <-tick.C:
		}
		if _, err := io.WriteString(c.Conn, text[i%len(text):i%len(text)+1]); err != nil {
			<-gone
			return
		}
	}
	// Nobody else may read while AwaitGone does: the connection ends here.
	c.socket.Close()
	<-gone
}
