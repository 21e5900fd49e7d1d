package wire

import (
	"bytes"
	"io"
)

// maxEmptyReads is how often a source may give nothing without an error.
const maxEmptyReads = 100

// readLine gives the next line without its end; owned says that it is no part
// of the reader's buffer. The last line may lack an end. After it, and at a
// bound, the error repeats.
func (r *EventReader) readLine() (line []byte, owned bool, err error) {
	for {
		if r.afterCR && len(r.unread) > 0 {
			r.afterCR = false
			if r.unread[0] == '\n' && !r.consume(1) {
				return nil, false, r.broken
			}
		}
		if end := lineEnd(r.unread); end >= 0 {
			part := r.unread[:end]
			r.afterCR = r.unread[end] == '\r'
			if !r.consume(end + 1) {
				return nil, false, r.broken
			}
			line, owned = r.join(part)
			return r.withoutMark(line), owned, nil
		}
		part := r.unread
		if !r.consume(len(part)) {
			return nil, false, r.broken
		}
		r.line = append(r.line, part...)
		if err := r.fill(); err != nil {
			if err == io.EOF && len(r.line) > 0 {
				line, owned = r.join(nil)
				return r.withoutMark(line), owned, nil
			}
			return nil, false, err
		}
	}
}

// lineEnd is the index of the first CR or LF, or -1.
func lineEnd(b []byte) int {
	end := bytes.IndexByte(b, '\n')
	before := b
	if end >= 0 {
		before = b[:end]
	}
	if cr := bytes.IndexByte(before, '\r'); cr >= 0 {
		return cr
	}
	return end
}

// join gives the line that ends with part, as memory that the caller may keep
// where it spans chunks.
func (r *EventReader) join(part []byte) (line []byte, owned bool) {
	if len(r.line) == 0 {
		return part, false
	}
	line = append(r.line, part...)
	r.line = nil
	return line, true
}

// withoutMark drops the byte order mark that the first line may begin with.
func (r *EventReader) withoutMark(line []byte) []byte {
	if r.begun {
		return line
	}
	r.begun = true
	return bytes.TrimPrefix(line, []byte("\ufeff"))
}

// consume moves past n unread bytes, or reports that the bound is reached.
// Only what is consumed counts, so the same stream meets its bound at the same
// place however it is cut into chunks.
func (r *EventReader) consume(n int) bool {
	if int64(n) > r.left {
		r.broken = ErrTooLarge
		return false
	}
	r.left -= int64(n)
	r.unread = r.unread[n:]
	return true
}

// fill reads the next chunk.
func (r *EventReader) fill() error {
	if r.ended != nil {
		return r.ended
	}
	if r.buf == nil {
		r.buf = make([]byte, eventChunk)
	}
	for range maxEmptyReads {
		n, err := r.source.Read(r.buf)
		r.unread, r.ended = r.buf[:n], err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	r.ended = io.ErrNoProgress
	return r.ended
}
