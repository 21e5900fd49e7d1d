package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// ErrProtocol is wrapped by every error of [ReadReply].
var ErrProtocol = errors.New("the reply breaks the protocol")

// Reply is one message of an upstream: a response, or a notification or
// request of its own, which has a Method. Raw members are slices of the text
// that was read.
type Reply struct {
	// ID is the id of the response or request; zero for notifications and
	// for a null or missing id. A peer's number may be written as a float.
	ID         ID
	Result     json.RawMessage // an object, or nil
	Error      *RPCError       // nil where there is a Result or a Method
	Method     string
	Params     json.RawMessage // as it came, or nil
	ResultType string          // complete, input_required, task, or empty
	IsError    bool            // the result says that the tool failed
}

// RPCError is a JSON-RPC error object.
type RPCError struct {
	Code    int64
	Message string
	Data    json.RawMessage // as it came, or nil
	// Raw is the whole object as it came. [AppendError] writes it where it
	// is set, the other members otherwise.
	Raw json.RawMessage
}

// ReadReply reads one JSON-RPC message of an upstream, as strictly as
// [ReadRequest] reads an agent's, but for what servers in the field send
// without harm: a byte order mark, lone surrogate escapes, a null or missing
// id, "error":null beside a result and "result":null beside an error, ids and
// codes written as floats. Both a result and an error, an array, a result that
// is no object, and a resultType other than complete, input_required and task
// break the protocol. The size is for the caller to bound.
func ReadReply(data []byte) (Reply, error) {
	data = bytes.TrimPrefix(data, []byte(mark))
	p := replyReader{scanner: newScanner(data)}
	defer p.release()
	p.lenient = true
	if err := p.read(); err != nil {
		if !utf8.Valid(data) {
			err = protocol("invalid UTF-8")
		}
		return Reply{}, asProtocol(err)
	}
	return p.Reply, nil
}

// protocol makes an error that wraps ErrProtocol.
func protocol(what string) error { return fmt.Errorf("%w: %s", ErrProtocol, what) }

// asProtocol makes one of the scanner's errors.
func asProtocol(err error) error {
	if errors.Is(err, ErrProtocol) {
		return err
	}
	return protocol(err.Error())
}

// replyReader fills a Reply.
type replyReader struct {
	*scanner
	Reply
	version   string
	hasMethod bool
}

// read reads the whole message.
func (p *replyReader) read() error {
	if p.kind() != '{' {
		return protocol("not a JSON object")
	}
	if _, err := p.object(p.envelope); err != nil {
		return err
	}
	if err := p.end(); err != nil {
		return err
	}
	return p.complete()
}

// envelope reads one member of the message.
func (p *replyReader) envelope(name []byte) (err error) {
	switch string(name) {
	case "jsonrpc":
		p.version, err = p.text("jsonrpc is not a string")
	case "id":
		p.ID, err = p.id()
	case "method":
		p.hasMethod = true
		p.Method, err = p.text("the method is not a string")
	case "params":
		p.Params, err = p.value()
	case "result":
		p.Result, err = p.nullable("the result is not an object", p.result)
	case "error":
		p.Error, err = p.rpcError()
	default:
		if variantOfEnvelope(name) {
			return protocol("a member is a case variant of a reserved one")
		}
		_, err = p.value()
	}
	return err
}

// result reads one member of the result.
func (p *replyReader) result(name []byte) (err error) {
	switch string(name) {
	case "resultType":
		p.ResultType, err = p.text("resultType is not a string")
	case "isError":
		p.IsError, err = p.flag()
	default:
		if variant(name, "resultType", "isError") {
			return protocol("a member of the result is a case variant of a reserved one")
		}
		_, err = p.value()
	}
	return err
}

// rpcError reads the error object; null is nil.
func (p *replyReader) rpcError() (*RPCError, error) {
	var e RPCError
	var hasCode, hasMessage bool
	raw, err := p.nullable("the error is not an object", func(name []byte) (err error) {
		switch string(name) {
		case "code":
			hasCode = true
			e.Code, err = p.code()
		case "message":
			hasMessage = true
			e.Message, err = p.text("the error's message is not a string")
		case "data":
			e.Data, err = p.value()
		default:
			_, err = p.value()
		}
		return err
	})
	switch {
	case err != nil || raw == nil:
		return nil, err
	case !hasCode || !hasMessage:
		return nil, protocol("the error lacks its code or message")
	}
	e.Raw = raw
	return &e, nil
}

// complete checks what only the whole message shows.
func (p *replyReader) complete() error {
	switch {
	case p.version != "2.0":
		return protocol("jsonrpc is not 2.0")
	case p.hasMethod && (p.Method == "" || p.Result != nil || p.Error != nil):
		return protocol("a message is neither a request nor a response")
	case p.hasMethod:
		return nil
	case p.Result != nil && p.Error != nil:
		return protocol("a response has both a result and an error")
	case p.Result == nil && p.Error == nil:
		return protocol("a response has neither a result nor an error")
	}
	switch p.ResultType {
	case "", "complete", "input_required", "task":
		return nil
	}
	return protocol("the resultType is unknown")
}

// text reads a string.
func (p *replyReader) text(fault string) (string, error) {
	kind := p.kind()
	raw, err := p.value()
	if err == nil && kind != '"' {
		err = protocol(fault)
	}
	if err != nil {
		return "", err
	}
	return constant(unquote(raw)), nil
}

// flag reads a boolean; null is false.
func (p *replyReader) flag() (bool, error) {
	kind := p.kind()
	_, err := p.value()
	if err == nil && kind != 't' && kind != 'f' && kind != 'n' {
		err = protocol("isError is not a boolean")
	}
	return kind == 't', err
}

// nullable reads an object with visit; null is nil.
func (p *replyReader) nullable(fault string, visit func([]byte) error) (json.RawMessage, error) {
	switch p.kind() {
	case '{':
		return p.object(visit)
	case 'n':
		_, err := p.value()
		return nil, err
	}
	if _, err := p.value(); err != nil {
		return nil, err
	}
	return nil, protocol(fault)
}

// id reads an id: a string, a number, or null for none.
func (p *replyReader) id() (ID, error) {
	kind := p.kind()
	raw, err := p.value()
	switch {
	case err != nil || kind == 'n':
		return ID{}, err
	case kind == '"' || kind == '0':
		return ID{string(raw)}, nil
	}
	return ID{}, protocol("the id is neither a string nor a number")
}

// code reads the code of an error.
func (p *replyReader) code() (int64, error) {
	raw, err := p.value()
	if err != nil {
		return 0, err
	}
	code, err := strconv.ParseInt(integral(string(raw)), 10, 64)
	if err != nil {
		return 0, protocol("the error's code is not an integer")
	}
	return code, nil
}
