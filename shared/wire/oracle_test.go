package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"mcprelay/shared/wire"
)

// The faults that the oracle finds beyond what its decoder refuses by itself.
var (
	errDepth    = fmt.Errorf("nested deeper than %d", wire.MaxDepth)
	errMembers  = fmt.Errorf("an object has more than %d members", wire.MaxMembers)
	errTrailing = errors.New("data after the end of the value")
)

// oracle reads one JSON text as the scanner must, with a decoder that others
// have written. The values it gives are slices of the text.
type oracle struct {
	dec  jsontext.Decoder
	buf  bytes.Buffer // what dec reads from; it hands over body itself
	body []byte
}

// newOracle reads text with the strictness of requests.
func newOracle(text []byte) *oracle {
	return reset(text)
}

// newLenientOracle also lets lone surrogate escapes pass. It would let invalid
// UTF-8 pass too, so the caller checks that first.
func newLenientOracle(text []byte) *oracle {
	return reset(text, jsontext.AllowInvalidUTF8(true))
}

// oracles keeps decoders for reuse, which is most of what one costs.
var oracles = sync.Pool{New: func() any { return new(oracle) }}

func reset(text []byte, options ...jsontext.Options) *oracle {
	r := oracles.Get().(*oracle)
	r.body, r.buf = text, *bytes.NewBuffer(text)
	r.dec.Reset(&r.buf, options...)
	return r
}

// kind is the first character of the next value, '0' for any number, 'f' and
// 't' for booleans, 'n' for null.
func (r *oracle) kind() jsontext.Kind { return r.dec.PeekKind() }

// object reads an object, calling visit with each name, unescaped; visit must
// consume the value. It gives the text of the whole object. Only the few
// objects that a message defines are read so, far above wire.MaxDepth.
func (r *oracle) object(visit func(name []byte) error) ([]byte, error) {
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	start := r.dec.InputOffset() - 1
	for n := 0; r.dec.PeekKind() != '}'; n++ {
		if n == wire.MaxMembers {
			return nil, errMembers
		}
		name, err := r.dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if err := visit(unquote(name)); err != nil {
			return nil, err
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	end := r.dec.InputOffset()
	return r.body[start:end:end], nil
}

// value reads any value and gives its text.
func (r *oracle) value() ([]byte, error) {
	raw, err := r.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	if raw[0] == '{' || raw[0] == '[' {
		if err := bounded(raw, r.dec.StackDepth()); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// bounded checks depth and members of a value that the decoder has accepted
// and that lies inside depth others. A colon outside a string is a member.
func bounded(raw []byte, depth int) error {
	var members [wire.MaxDepth + 1]int
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = oracleEnd(raw, i) - 1
		case '{', '[':
			if depth++; depth > wire.MaxDepth {
				return errDepth
			}
			members[depth] = 0
		case ':':
			if members[depth]++; members[depth] > wire.MaxMembers {
				return errMembers
			}
		case '}', ']':
			depth--
		}
	}
	return nil
}

// oracleEnd is the index after the string that begins at text[i].
func oracleEnd(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// end makes sure that nothing but blanks follows.
func (r *oracle) end() error {
	if _, err := r.dec.ReadToken(); err != io.EOF {
		return errTrailing
	}
	return nil
}

// unquote gives the content of a JSON string that the decoder has accepted.
func unquote(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	// The error is of lone surrogates, which the decoder has let pass.
	content, _ := jsontext.AppendUnquote(nil, quoted)
	return content
}

// repeated reports whether err is about a name that is there twice.
func repeated(err error, pointer jsontext.Pointer) bool {
	var syntax *jsontext.SyntacticError
	return errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax) && syntax.JSONPointer == pointer
}

// explain says what is wrong with a text without quoting it.
func explain(err error) string {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return fmt.Sprintf("a name is repeated at byte %d", syntax.ByteOffset)
	case errors.Is(err, io.ErrUnexpectedEOF), err == io.EOF:
		return "the text ends early"
	case errors.As(err, &syntax):
		return fmt.Sprintf("not strict JSON at byte %d", syntax.ByteOffset)
	}
	return err.Error()
}
