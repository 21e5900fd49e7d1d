package exchange

import (
	"context"
	"encoding/json"
	"net/http"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// What the tests of single parts reach. The exchange as a whole is tested from
// outside.
var (
	ReadHead    = readHead
	CheckHead   = checkHead
	ErrHead     = errHead
	ErrTooLarge = errHeadTooLarge
)

// AppendMeta is appendMeta for a message to s.
func AppendMeta(dst []byte, agent json.RawMessage, s session.State, trace string) ([]byte, error) {
	return appendMeta(dst, &message{meta: agent, state: s, trace: trace}, wire.ClientInfo("mcprelay", "1"))
}

// RequestBytes is a modern call as it is written.
func RequestBytes(r Request) ([]byte, *call.Refusal) {
	var s scratch
	s.header = http.Header{}
	m := message{verb: http.MethodPost, method: string(r.Operation), ask: r.Ask(), state: session.State{Era: session.Modern, Version: wire.Modern}, id: wire.NumberID(1)}
	refusal := New(Config{}).appendRequest(&s, &r, &m)
	return s.out, refusal
}

// Again is the retrying of a connection.
func Again(ctx context.Context, l Limits, connect func() (int, error)) (int, error) {
	return again(ctx, l.withDefaults(), connect)
}

// The parts of an opening and of the memory.
type (
	Flights = flights
	Memory  = memory
)

// Do, Get, Set and Drop are the methods of the parts.
var (
	Do   = (*flights).do
	Get  = (*memory).get
	Set  = (*memory).set
	Drop = (*memory).drop
)

// Bounds that tests are written against.
const (
	MaxRemembered = maxRemembered
	MaxHead       = maxHead
)
