package wire

import (
	"bytes"
	"io"
)

// maxEmptyReads is how often a source may give nothing without an error.
const maxEmptyReads = 100

// readLine gives the place of the next line in the buffer, without its end.
// The last line may lack an end. After it, and at a bound, the error repeats.
func (r *EventReader) readLine() (from, to int, err error) {
	for {
		if r.afterCR && r.next < len(r.buf) {
			r.afterCR = false
			if r.buf[r.next] == '\n' && !r.consume(1) {
				return 0, 0, r.broken
			}
		}
		unread := r.buf[r.next:]
		if end := lineEnd(unread[r.looked:]); end >= 0 {
			end += r.looked
			r.afterCR = unread[end] == '\r'
			return r.line(end, end+1)
		}
		r.looked = len(unread)
		if int64(len(unread)) > r.left {
			r.broken = ErrTooLarge
			return 0, 0, r.broken
		}
		if err := r.fill(); err != nil {
			if err == io.EOF && len(unread) > 0 {
				return r.line(len(unread), len(unread))
			}
			return 0, 0, err
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

// mark is the byte order mark that the first line may begin with.
const mark = "\ufeff"

// line consumes size unread bytes, of which the first length are a line.
func (r *EventReader) line(length, size int) (from, to int, err error) {
	from = r.next
	to = from + length
	if !r.consume(size) {
		return 0, 0, r.broken
	}
	if !r.begun && bytes.HasPrefix(r.buf[from:to], []byte(mark)) {
		from += len(mark)
	}
	r.begun = true
	return from, to, nil
}

// consume moves past n unread bytes, or reports that the bound is reached.
// Only whole lines count, so the same stream meets its bound at the same place
// however it is cut into chunks.
func (r *EventReader) consume(n int) bool {
	if int64(n) > r.left {
		r.broken = ErrTooLarge
		return false
	}
	r.left -= int64(n)
	r.next, r.looked = r.next+n, 0
	return true
}

// fill reads on behind what is unread.
func (r *EventReader) fill() error {
	if r.ended != nil {
		return r.ended
	}
	r.room()
	for range maxEmptyReads {
		n, err := r.source.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf, r.ended = r.buf[:len(r.buf)+n], err
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

// room makes room for reading: that of what was consumed and is not data of
// the event, or new memory, never much more than may still come.
func (r *EventReader) room() {
	keep := r.next
	if r.hasData {
		keep = r.from
	}
	kept := len(r.buf) - keep
	switch {
	case r.memory == nil:
		r.memory = memories().Get().(*memory)
		r.buf = r.memory.bytes
	case kept == 0:
		r.buf = r.buf[:0]
	case len(r.buf) < cap(r.buf):
		return
	case kept <= cap(r.buf)/2:
		r.buf = r.buf[:copy(r.buf, r.buf[keep:])]
	default:
		size := int64(cap(r.buf)) * eventGrowth
		if most := int64(kept) + r.left; size > most {
			size = max(most, int64(cap(r.buf))) + 1
		}
		r.buf = append(make([]byte, 0, size), r.buf[keep:]...)
	}
	r.next -= keep
	if r.hasData {
		r.from, r.to = r.from-keep, r.to-keep
	}
}
