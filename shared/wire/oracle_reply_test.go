package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcprelay/shared/wire"
)

// oracleReadReply is ReadReply by the oracle.
func oracleReadReply(data []byte) (wire.Reply, error) {
	if len(data) >= 3 && string(data[:3]) == "\ufeff" {
		data = data[3:]
	}
	if !utf8.Valid(data) {
		return wire.Reply{}, protocol("invalid UTF-8")
	}
	p := oracleReply{oracle: newLenientOracle(data)}
	defer oracles.Put(p.oracle)
	if kind := p.kind(); kind != '{' {
		return wire.Reply{}, protocol("not a JSON object")
	}
	if _, err := p.object(p.envelope); err != nil {
		return wire.Reply{}, asProtocol(err)
	}
	if err := p.end(); err != nil {
		return wire.Reply{}, asProtocol(err)
	}
	if err := p.complete(); err != nil {
		return wire.Reply{}, err
	}
	return p.Reply, nil
}

// protocol makes an error that wraps wire.ErrProtocol.
func protocol(what string) error { return fmt.Errorf("%w: %s", wire.ErrProtocol, what) }

// asProtocol makes one of the decoder's errors.
func asProtocol(err error) error {
	if errors.Is(err, wire.ErrProtocol) {
		return err
	}
	return protocol(explain(err))
}

// oracleReply fills a Reply.
type oracleReply struct {
	*oracle
	wire.Reply
	version   string
	hasMethod bool
}

// envelope reads one member of the message.
func (p *oracleReply) envelope(name []byte) (err error) {
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
		if oracleEnvelope(string(name)) {
			return protocol("a member is a case variant of a reserved one")
		}
		_, err = p.value()
	}
	return err
}

// result reads one member of the result.
func (p *oracleReply) result(name []byte) (err error) {
	switch string(name) {
	case "resultType":
		p.ResultType, err = p.text("resultType is not a string")
	case "isError":
		p.IsError, err = p.flag()
	default:
		if variant(string(name), "resultType", "isError") {
			return protocol("a member of the result is a case variant of a reserved one")
		}
		_, err = p.value()
	}
	return err
}

// rpcError reads the error object; null is nil.
func (p *oracleReply) rpcError() (*wire.RPCError, error) {
	var e wire.RPCError
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
func (p *oracleReply) complete() error {
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
func (p *oracleReply) text(fault string) (string, error) {
	kind := p.kind()
	raw, err := p.value()
	if err == nil && kind != '"' {
		err = protocol(fault)
	}
	if err != nil {
		return "", err
	}
	return string(unquote(raw)), nil
}

// flag reads a boolean; null is false.
func (p *oracleReply) flag() (bool, error) {
	kind := p.kind()
	_, err := p.value()
	if err == nil && kind != 't' && kind != 'f' && kind != 'n' {
		err = protocol("isError is not a boolean")
	}
	return kind == 't', err
}

// nullable reads an object with visit; null is nil.
func (p *oracleReply) nullable(fault string, visit func([]byte) error) (json.RawMessage, error) {
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
func (p *oracleReply) id() (wire.ID, error) {
	kind := p.kind()
	raw, err := p.value()
	switch {
	case err != nil || kind == 'n':
		return wire.ID{}, err
	case kind == '"' || kind == '0':
		return wire.NewID(string(raw)), nil
	}
	return wire.ID{}, protocol("the id is neither a string nor a number")
}

// code reads the code of an error.
func (p *oracleReply) code() (int64, error) {
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

// integral drops the fraction of a JSON number when it is zero.
func integral(number string) string {
	whole, fraction, found := strings.Cut(number, ".")
	if found && strings.Trim(fraction, "0") == "" {
		return whole
	}
	return number
}
