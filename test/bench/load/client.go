package load

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"
)

const (
	// As large as the large payload needs to be read in few pieces.
	bufferSize = 64 << 10
	// A run that hangs ends here instead of never.
	callTime = 30 * time.Second
	maxLine  = 8 << 10
	maxBody  = 16 << 20
)

// client is one keep-alive connection.
type client struct {
	conn      net.Conn
	reader    *bufio.Reader
	request   []byte
	want      []byte
	body      []byte // reused from reply to reply
	latencies []time.Duration
}

func (p Plan) open(ctx context.Context, target *url.URL) (*client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", target.Host)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	if target.Scheme == "https" {
		secure := tls.Client(conn, &tls.Config{RootCAs: p.Roots, ServerName: target.Hostname(), MinVersion: tls.VersionTLS12})
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("shaking hands: %w", err), conn.Close())
		}
		conn = secure
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() }) // a second close does no harm
	return &client{conn: conn, reader: bufio.NewReaderSize(conn, bufferSize)}, nil
}

// calls makes n calls, one after the other.
func (c *client) calls(n int) error {
	for i := range n {
		began := time.Now()
		if i%64 == 0 { // not for every call: a timer is not free
			if err := c.conn.SetDeadline(began.Add(64 * callTime)); err != nil {
				return err
			}
		}
		if _, err := c.conn.Write(c.request); err != nil {
			return fmt.Errorf("sending: %w", err)
		}
		status, err := c.reply()
		if err != nil {
			return fmt.Errorf("reading the reply: %w", err)
		}
		if c.latencies != nil {
			c.latencies = append(c.latencies, time.Since(began))
		}
		if status != 200 || !bytes.Contains(c.body, c.want) {
			return fmt.Errorf("call %d was answered with status %d and not with its arguments: %.300s", i, status, c.body)
		}
	}
	return nil
}

// reply reads one reply into c.body and gives its status.
func (c *client) reply() (int, error) {
	status, length, chunked, err := c.head()
	if err != nil {
		return 0, err
	}
	c.body = c.body[:0]
	if !chunked {
		return status, c.take(length)
	}
	for {
		line, err := c.line()
		if err != nil {
			return 0, err
		}
		size, err := strconv.ParseUint(string(line), 16, 31)
		if err != nil {
			return 0, fmt.Errorf("a chunk: %w", err)
		}
		if err := c.take(int(size)); err != nil {
			return 0, err
		}
		if _, err := c.line(); err != nil { // after the chunk, or of the empty trailer
			return 0, err
		}
		if size == 0 {
			return status, nil
		}
	}
}

// head reads the status line and the fields that frame the body.
func (c *client) head() (status, length int, chunked bool, err error) {
	line, err := c.line()
	if err != nil {
		return 0, 0, false, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, 0, false, fmt.Errorf("%.40q is no status line", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, 0, false, fmt.Errorf("the status: %w", err)
	}
	for {
		line, err := c.line()
		if err != nil || len(line) == 0 {
			return status, length, chunked, err
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, 0, false, fmt.Errorf("the length: %w", err)
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = bytes.EqualFold(value, []byte("chunked"))
		}
	}
}

func (c *client) line() ([]byte, error) {
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if len(line) > maxLine {
		return nil, errors.New("a line is too long")
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// take appends n bytes to the body.
func (c *client) take(n int) error {
	have := len(c.body)
	if n < 0 || have+n > maxBody {
		return errors.New("the body is too large")
	}
	if cap(c.body) < have+n {
		c.body = append(make([]byte, 0, have+n), c.body...)
	}
	c.body = c.body[:have+n]
	for at := have; at < have+n; {
		m, err := c.reader.Read(c.body[at:])
		if err != nil {
			return err
		}
		at += m
	}
	return nil
}
