package wire

import (
	"errors"
	"fmt"
	"sync"
)

// The faults that have no place worth telling.
var (
	errDepth    = fmt.Errorf("nested deeper than %d", MaxDepth)
	errMembers  = fmt.Errorf("an object has more than %d members", MaxMembers)
	errTrailing = errors.New("data after the end of the value")
	errEarly    = errors.New("the text ends early")
)

// fault is what is wrong at one place of a text. It quotes nothing.
type fault struct {
	at    int  // in bytes
	twice bool // a name of an object is there again; else it is not JSON
	depth int  // of that object: 1 for the outermost
}

func (f *fault) Error() string {
	if f.twice {
		return fmt.Sprintf("a name is repeated at byte %d", f.at)
	}
	return fmt.Sprintf("not strict JSON at byte %d", f.at)
}

// scanner reads one JSON text (RFC 8259), strictly and once: no name twice in
// an object however it is spelled, no invalid UTF-8, no lone surrogate escape,
// nothing beyond [MaxDepth] and [MaxMembers]. The values it gives are slices of
// the text. It is written here because it is most of what the relay does with
// a large message; its tests hold it against another reader of JSON.
type scanner struct {
	text []byte
	at   int // where reading goes on
	// depth is that of the objects which are read member by member.
	depth int
	// lenient lets lone surrogate escapes pass.
	lenient bool
	err     error // what the functions that give -1 found
	names   names
}

// scanners keeps scanners for reuse, with the room for names that they have.
var scanners = sync.OnceValue(func() *sync.Pool {
	return &sync.Pool{New: func() any { return new(scanner) }}
})

// newScanner reads text with the strictness of requests.
func newScanner(text []byte) *scanner {
	s := scanners().Get().(*scanner)
	s.text = text
	return s
}

// release gives the scanner back and drops its hold on the text.
func (s *scanner) release() {
	s.names.reset()
	*s = scanner{names: s.names}
	scanners().Put(s)
}

// kind is the first character of the next value, '0' for any number, 0 at the
// end of the text.
func (s *scanner) kind() byte {
	s.at = blanks(s.text, s.at)
	switch {
	case s.at >= len(s.text):
		return 0
	case s.text[s.at] == '-' || s.text[s.at]-'0' <= 9:
		return '0'
	}
	return s.text[s.at]
}

// value reads any value and gives its text.
func (s *scanner) value() ([]byte, error) {
	start := blanks(s.text, s.at)
	end := s.skip(start, s.depth)
	if end < 0 {
		return nil, s.err
	}
	s.at = end
	return s.text[start:end:end], nil
}

// object reads an object, calling visit with each name, unescaped; visit must
// consume the value. It gives the text of the whole object. Only the few
// objects that a message defines are read so, far above MaxDepth.
func (s *scanner) object(visit func(name []byte) error) ([]byte, error) {
	start, group := s.at, s.names.open()
	s.depth++
	for n := 0; ; n++ {
		more, err := s.nextMember(n)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		name, err := s.name(&group)
		if err == nil {
			err = visit(name)
		}
		if err != nil {
			return nil, err
		}
	}
	s.depth--
	s.names.close(group)
	return s.text[start:s.at:s.at], nil
}

// nextMember moves to the name of the member with number n, or behind the end
// of the object.
func (s *scanner) nextMember(n int) (more bool, err error) {
	i := s.at
	if n == 0 {
		i++ // the brace
	}
	i = blanks(s.text, i)
	switch {
	case i >= len(s.text):
		return false, errEarly
	case s.text[i] == '}':
		s.at = i + 1
		return false, nil
	case n > 0 && s.text[i] != ',':
		return false, &fault{at: i}
	case n == MaxMembers:
		return false, errMembers
	case n == 0:
		s.at = i
		return true, nil
	}
	comma := i
	if i = blanks(s.text, i+1); i >= len(s.text) {
		return false, errEarly
	}
	if c := s.text[i]; c == '}' || c == ']' {
		return false, &fault{at: comma}
	}
	s.at = i
	return true, nil
}

// name reads a name and its colon, and gives its content.
func (s *scanner) name(group *group) ([]byte, error) {
	start := s.at
	if s.text[start] != '"' {
		if s.skip(start, s.depth) < 0 {
			return nil, s.err
		}
		return nil, &fault{at: start}
	}
	one, end := s.nameAt(start)
	if end < 0 {
		return nil, s.err
	}
	if !s.names.add(group, s.text, one) {
		return nil, &fault{at: start, twice: true, depth: s.depth}
	}
	if s.at = s.colon(end); s.at < 0 {
		return nil, s.err
	}
	return s.names.content(s.text, one), nil
}

// end makes sure that nothing but blanks follows.
func (s *scanner) end() error {
	if blanks(s.text, s.at) < len(s.text) {
		return errTrailing
	}
	return nil
}

// repeats reports whether err is of a member of the outermost object that is
// there twice and is called name.
func (s *scanner) repeats(err error, name string) bool {
	var f *fault
	return errors.As(err, &f) && f.twice && f.depth == 1 && string(unquote(s.text[f.at:endOfString(s.text, f.at)])) == name
}

// bad keeps a fault and gives -1.
func (s *scanner) bad(at int) int {
	s.err = &fault{at: at}
	return -1
}

// fail keeps an error and gives -1.
func (s *scanner) fail(err error) int {
	s.err = err
	return -1
}
