package exchange

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

var (
	errEncoding    = errors.New("unreadable content encoding")
	errContentType = errors.New("neither JSON nor an event stream")
)

const (
	mediaJSON   = "application/json"
	mediaStream = "text/event-stream"
	mediaHTML   = "text/html"
)

// mediaType is the type of a reply without its parameters, lower case; empty
// where there is none. A broken parameter does not hide the type.
func mediaType(h http.Header) string {
	values := h["Content-Type"]
	if len(values) == 0 {
		return ""
	}
	if v := values[0]; v == mediaJSON || v == mediaStream {
		return v
	}
	media, _, err := mime.ParseMediaType(values[0])
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return ""
	}
	return media
}

// decoded is the body of a reply and its length, -1 where unknown. The relay
// asks for identity; servers behind careless proxies send gzip all the same.
// What was compressed is bounded too: empty gzip members decode to nothing for
// as long as they come.
func decoded(p *response, limit int64) (io.Reader, int64, error) {
	switch strings.ToLower(strings.TrimSpace(p.Header.Get("Content-Encoding"))) {
	case "", "identity":
		return p.Body, p.ContentLength, nil
	case "gzip", "x-gzip":
		p.spent = true // what lies behind the last member is not looked at
		body, err := gzip.NewReader(&bounded{r: p.Body, left: limit})
		return body, -1, err
	}
	return nil, 0, errEncoding
}

// bounded fails at its bound instead of ending there: an end would make a part
// look whole.
type bounded struct {
	r    io.Reader
	left int64
}

// Read reads up to the bound, then fails.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return 0, errReplyTooLarge
	}
	return n, err
}

// readAll reads a body of the given length, -1 for unknown, in memory of at
// most twice the limit.
func readAll(r io.Reader, length, limit int64) ([]byte, error) {
	if length > limit {
		return nil, errReplyTooLarge
	}
	if length >= 0 {
		buf := make([]byte, length)
		n, err := io.ReadFull(r, buf)
		return buf[:n], err
	}
	buf := make([]byte, 0, 1<<10)
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if int64(len(buf)) > limit {
			return buf, errReplyTooLarge
		}
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(2*int64(cap(buf)), limit+1))
			copy(grown, buf)
			buf = grown
		}
	}
}

const (
	// lingerTime is how long a stream that has given its response may take to
	// end by itself. A server that ends its streams does so in the same breath,
	// and its connection is worth keeping; one that keeps them open must not
	// delay the reply.
	lingerTime = 2 * time.Millisecond
	// drainTime and drainBytes are what the body of a reply that nobody reads
	// may cost for the connection to be kept: less than a TLS handshake.
	drainTime  = 100 * time.Millisecond
	drainBytes = 4 << 10
)

// drained reads on to the end of the body and reports whether it came in time.
func (p *response) drained(limit time.Duration) bool {
	if p.spent || p.Close || p.ContentLength > drainBytes {
		return false
	}
	p.stop()
	p.stop = func() {}
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	stop := p.conn.Bind(ctx)
	defer stop()
	var buf [512]byte
	for left := drainBytes; left > 0; {
		n, err := p.Body.Read(buf[:])
		if err != nil {
			return err == io.EOF && ctx.Err() == nil
		}
		left -= n
	}
	return false
}
