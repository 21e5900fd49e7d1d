package wire

import "mcprelay/shared/call"

// The parts of a request that few methods have: what a completion is of
// (2026-07-28, server/utilities/completion), and what an agent gives back to a
// server that asked for input (2026-07-28, basic/patterns/mrtr).

// given reads a string among the parameters, and tells whether there is one.
func (p *requestReader) given(what string) (s string, ok bool, err error) {
	ok = p.kind() == '"'
	s, err = p.text(call.BadParams, what)
	return s, ok, err
}

// ref reads one member of params.ref.
func (p *requestReader) ref(name []byte) (err error) {
	switch string(name) {
	case "type":
		p.Ref.Type, err = p.text(call.BadParams, "type of ref")
	case "name":
		p.Ref.Name, err = p.text(call.BadParams, "name of ref")
	case "uri":
		p.Ref.URI, err = p.text(call.BadParams, "uri of ref")
	default:
		if variantOfRef(name) {
			p.refuse(call.BadParams, "a member of ref is a case variant of a defined one")
		}
		_, err = p.value()
	}
	return err
}

// argument reads one member of params.argument.
func (p *requestReader) argument(name []byte) (err error) {
	switch string(name) {
	case "name":
		_, p.argumentName, err = p.given("name of argument")
	case "value":
		_, p.argumentValue, err = p.given("value of argument")
	default:
		if variantOfArgument(name) {
			p.refuse(call.BadParams, "a member of argument is a case variant of a defined one")
		}
		_, err = p.value()
	}
	return err
}

// state reads params.requestState.
func (p *requestReader) state() (err error) {
	p.RequestState, p.HasState, err = p.given("requestState")
	if len(p.RequestState) > MaxState {
		p.refuse(call.BadParams, "requestState is longer than %d bytes", MaxState)
	}
	return err
}

// logLevel reads the level that the agent asks for with its request.
func (p *requestReader) logLevel() error {
	level, given, err := p.given(MetaLogLevel)
	if given && !IsLevel(level) {
		p.refuse(call.BadParams, "%s is no level", MetaLogLevel)
	}
	p.LogLevel = level
	return err
}

// completes reports whether the request says what it wants completed.
func (p *requestReader) completes() bool {
	if p.Argument == nil || !p.argumentName || !p.argumentValue {
		return false
	}
	switch p.Ref.Type {
	case RefPrompt:
		return p.Ref.Name != ""
	case RefResource:
		return p.Ref.URI != ""
	}
	return false
}
