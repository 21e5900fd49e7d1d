package stdio

import (
	"bytes"
	"errors"
	"io"
)

// errLong says that a line has more bytes than its bound.
var errLong = errors.New("a line longer than its bound")

const (
	// chunk is what is read at once, in bytes: most answers fit, and a pipe
	// holds 64 KiB (pipe(7)).
	chunk = 16 << 10
	// maxEmptyReads is how often a source may give nothing without an error.
	maxEmptyReads = 100
)

// lines reads lines of bounded length. However the source is cut into chunks,
// the lines are the same.
type lines struct {
	source io.Reader
	buf    []byte
	unread []byte // of buf
	ended  error  // how the source ended
	cut    bool   // the source ended inside the line that was given last
}

// next gives the next line without its LF or CRLF, as memory of the caller's.
// Of a line with more than limit bytes it gives the first limit with
// [errLong], and skip reads the rest. The last line may lack an end.
func (l *lines) next(limit int64) ([]byte, error) {
	var line []byte
	for {
		end := bytes.IndexByte(l.unread, '\n')
		part := l.unread
		if end >= 0 {
			part = part[:end]
		}
		if room := limit - int64(len(line)); int64(len(part)) > room {
			line = append(line, part[:room]...)
			l.unread = l.unread[room:]
			return line, errLong
		}
		line = append(line, part...)
		if end >= 0 {
			l.unread = l.unread[end+1:]
			return bytes.TrimSuffix(line, []byte{'\r'}), nil
		}
		if err := l.fill(); err != nil {
			if err == io.EOF && len(line) > 0 {
				l.cut = true
				return line, nil
			}
			return nil, err
		}
	}
}

// skip reads to the end of a line that is too long and counts its bytes.
func (l *lines) skip() (skipped int64, err error) {
	for {
		if end := bytes.IndexByte(l.unread, '\n'); end >= 0 {
			l.unread = l.unread[end+1:]
			return skipped + int64(end), nil
		}
		skipped += int64(len(l.unread))
		if err := l.fill(); err != nil {
			return skipped, err
		}
	}
}

// fill reads the next chunk where all before it was given.
func (l *lines) fill() error {
	l.unread = nil
	if l.ended != nil {
		return l.ended
	}
	if l.buf == nil {
		l.buf = make([]byte, chunk)
	}
	for range maxEmptyReads {
		n, err := l.source.Read(l.buf)
		l.unread, l.ended = l.buf[:n], err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	l.ended = io.ErrNoProgress
	return l.ended
}
