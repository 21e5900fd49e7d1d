package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/wire"
)

func TestRequestsAreBuiltFromRawParts(t *testing.T) {
	id := read(t, `{"jsonrpc":"2.0","id":"\u0061","method":"x"}`).ID
	for want, got := range map[string][]byte{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"n":9007199254740993, "f":1.0}}`: wire.AppendRequest(nil, wire.NumberID(7), "tools/call", json.RawMessage(`{"n":9007199254740993, "f":1.0}`)),
		`{"jsonrpc":"2.0","id":"\u0061","method":"a\"b\n<é"}`:                                     wire.AppendRequest(nil, id, "a\"b\n<é", nil),
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`:                                  wire.AppendRequest(nil, wire.ID{}, "notifications/initialized", nil),
		`before{"jsonrpc":"2.0","id":1,"method":"m"}`:                                             wire.AppendRequest([]byte("before"), wire.NumberID(1), "m", nil),
	} {
		if string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestResponsesAreBuiltFromRawParts(t *testing.T) {
	raw := &wire.RPCError{Code: 1, Message: "ignored", Raw: json.RawMessage(`{ "code":-32050,"message":"m","own":1.0 }`)}
	for want, got := range map[string][]byte{
		`{"jsonrpc":"2.0","id":1,"result":{"a":1e2}}`:                                wire.AppendResult(nil, wire.NumberID(1), json.RawMessage(`{"a":1e2}`)),
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                                       wire.AppendResult(nil, wire.NumberID(1), nil),
		`{"jsonrpc":"2.0","id":1,"error":{ "code":-32050,"message":"m","own":1.0 }}`: wire.AppendError(nil, wire.NumberID(1), raw),
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"a\"\u0001"}}`:  wire.AppendError(nil, wire.ID{}, &wire.RPCError{Code: -32700, Message: "a\"\x01"}),
		`x{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"","data":{"d":[1.0]}}}`: wire.AppendError([]byte("x"), wire.NumberID(1),
			&wire.RPCError{Data: json.RawMessage(`{"d":[1.0]}`)}),
	} {
		if string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestWhatIsBuiltCanBeRead(t *testing.T) {
	params := json.RawMessage(`{"name":"echo","arguments":{"a":[1,2.50]}}`)
	r := read(t, string(wire.AppendRequest(nil, wire.NumberID(3), "tools/call", params)))
	if string(r.Params) != string(params) || string(r.ID.Raw()) != "3" {
		t.Errorf("request %+v", r)
	}
	want := &wire.RPCError{Code: -31010, Message: "é \u2028 \x7f", Data: json.RawMessage(`{"call_id":"x"}`)}
	got := reply(t, string(wire.AppendError(nil, r.ID, want)))
	if diff := cmp.Diff(want.Message, got.Error.Message); diff != "" || got.Error.Code != want.Code || string(got.Error.Data) != string(want.Data) {
		t.Errorf("error %+v", got.Error)
	}
	again := reply(t, string(wire.AppendError(nil, got.ID, got.Error)))
	if string(again.Error.Raw) != string(got.Error.Raw) {
		t.Errorf("error %s became %s", got.Error.Raw, again.Error.Raw)
	}
}

func TestInvalidUTF8InAMessageIsReplaced(t *testing.T) {
	got := wire.AppendError(nil, wire.NumberID(1), &wire.RPCError{Message: "a\xffb"})
	if r := reply(t, string(got)); r.Error.Message != "a\ufffdb" {
		t.Errorf("message %q", r.Error.Message)
	}
}
