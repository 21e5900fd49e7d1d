package wire

import (
	"encoding/json"

	"mcprelay/shared/call"
)

// ReadObject checks that b is one JSON object, as strictly as [ReadRequest]
// checks a body: BadJSON, BadRequest for another kind of value, TooLarge.
func ReadObject(b []byte) *call.Refusal {
	_, refusal := readObject(b, nil)
	return refusal
}

// ReadArguments reads the body of a plain tool call, {"arguments":{}}, and
// gives the arguments as they came; nil when there are none. A member of
// another name is refused: a mistyped "arguments" must not run the tool
// without any.
func ReadArguments(body []byte) (json.RawMessage, *call.Refusal) {
	return readObject(body, func(p *requestReader, name []byte) (err error) {
		if string(name) == "arguments" {
			p.Arguments, err = p.optional("arguments", nil)
			return err
		}
		p.refuse(call.BadRequest, "a member is not arguments")
		_, err = p.value()
		return err
	})
}

// readObject reads one object with visit and gives what visit left as the
// arguments.
func readObject(body []byte, visit func(*requestReader, []byte) error) (json.RawMessage, *call.Refusal) {
	if len(body) > MaxBody {
		return nil, call.Refuse(call.TooLarge, "the body has %d bytes", len(body))
	}
	p := requestReader{scanner: newScanner(body)}
	defer p.release()
	if visit == nil {
		visit = func(p *requestReader, _ []byte) error { _, err := p.value(); return err }
	}
	if kind := p.kind(); kind != '{' {
		if _, err := p.value(); err != nil {
			return nil, badJSON(err)
		}
		return nil, call.Refuse(call.BadRequest, "the body is not an object")
	}
	if _, err := p.object(func(name []byte) error { return visit(&p, name) }); err != nil {
		return nil, badJSON(err)
	}
	if err := p.end(); err != nil {
		return nil, badJSON(err)
	}
	return p.Arguments, p.refusal
}
