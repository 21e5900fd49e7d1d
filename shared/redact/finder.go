package redact

const (
	// tableSize is the number of slots for pairs of bytes, a power of two.
	// Ten secrets fill about a tenth of them.
	tableSize = 4096
	// maxWindow bounds the beginning of the forms that is looked at first, so
	// that a distance fits into a byte.
	maxWindow = 32
	// long is the length from which a text is looked through at several places.
	long = 1 << 10
)

// finder finds many words in a text at once (Wu and Manber, 1994). It looks at
// the pair of bytes at the end of a window as long as the shortest word. For
// nearly every pair of a text no word has it there or before, and the window
// moves on by almost its whole length.
type finder struct {
	words  []string
	window int // length of the beginnings that the table is made of
	most   int // length of the longest word
	// skip is how far the window may move for a pair of bytes: the distance
	// from the last place of the pair in the beginning of any word to its end.
	skip [tableSize]uint8
}

func newFinder(words []string) finder {
	f := finder{words: words, window: maxWindow}
	for _, word := range words {
		f.window, f.most = min(f.window, len(word)), max(f.most, len(word))
	}
	if len(words) == 0 {
		return f
	}
	for i := range f.skip {
		f.skip[i] = uint8(f.window - 1)
	}
	for _, word := range words {
		for end := 1; end < f.window; end++ {
			at := slot(word[end-1], word[end])
			f.skip[at] = min(f.skip[at], uint8(f.window-1-end))
		}
	}
	return f
}

// slot is the place of a pair of bytes in the table.
func slot(a, b byte) int { return (int(a)<<5 ^ int(b)) & (tableSize - 1) }

// next finds the first word at or after from: its begin and the end of the
// longest word there. It is -1 where there is none.
func (f *finder) next(b []byte, from int) (begin, end int) {
	if begin = f.scan(b, from, len(b)); begin < 0 {
		return -1, -1
	}
	return begin, begin + f.longest(b[begin:])
}

// scan finds the first word at or after from and before to. It is -1 where
// there is none.
func (f *finder) scan(b []byte, from, to int) int {
	if len(f.words) == 0 {
		return -1
	}
	for last, end := from+f.window-1, min(to+f.window-1, len(b)); last < end; {
		if skip := int(f.skip[slot(b[last-1], b[last])]); skip > 0 {
			last += skip
			continue
		}
		if begin := last - f.window + 1; f.longest(b[begin:]) > 0 {
			return begin
		}
		last++
	}
	return -1
}

// longest is the length of the longest word that b begins with, 0 for none.
func (f *finder) longest(b []byte) int {
	n := 0
	for _, word := range f.words {
		if len(word) > n && len(word) <= len(b) && string(b[:len(word)]) == word {
			n = len(word)
		}
	}
	return n
}

// found reports whether b holds a word. A long text is looked through at four
// places at once: each move waits for what the one before it has read, and the
// processor has time for others meanwhile.
func (f *finder) found(b []byte) bool {
	if len(b) < long || len(f.words) == 0 {
		return f.scan(b, 0, len(b)) >= 0
	}
	quarter, before := len(b)/4, f.window-1
	// Each is the end of a window; a word that begins in a quarter may end in
	// the next one.
	p0, p1, p2, p3 := before, quarter+before, 2*quarter+before, 3*quarter+before
	for p0 < quarter+before && p1 < 2*quarter+before && p2 < 3*quarter+before && p3 < len(b) {
		s0, s1 := f.skip[slot(b[p0-1], b[p0])], f.skip[slot(b[p1-1], b[p1])]
		s2, s3 := f.skip[slot(b[p2-1], b[p2])], f.skip[slot(b[p3-1], b[p3])]
		if min(s0, s1, s2, s3) == 0 &&
			f.longest(b[p0-before:])+f.longest(b[p1-before:])+f.longest(b[p2-before:])+f.longest(b[p3-before:]) > 0 {
			return true
		}
		p0, p1, p2, p3 = p0+int(max(s0, 1)), p1+int(max(s1, 1)), p2+int(max(s2, 1)), p3+int(max(s3, 1))
	}
	return f.scan(b, p0-before, quarter) >= 0 || f.scan(b, p1-before, 2*quarter) >= 0 ||
		f.scan(b, p2-before, 3*quarter) >= 0 || f.scan(b, p3-before, len(b)) >= 0
}

// regions gives the parts of b that words cover, begin and end, in order.
// Words that overlap make one part, so that no rest of the second is left.
func (f *finder) regions(b []byte) func(yield func(begin, end int) bool) {
	return func(yield func(int, int) bool) {
		begin, end := f.next(b, 0)
		for begin >= 0 {
			next, nextEnd := f.next(b, begin+1)
			for next >= 0 && next < end {
				end = max(end, nextEnd)
				next, nextEnd = f.next(b, next+1)
			}
			if !yield(begin, end) {
				return
			}
			begin, end = next, nextEnd
		}
	}
}
