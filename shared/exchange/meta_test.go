package exchange_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

func TestMetaKeepsTheAgentsMembersInOrder(t *testing.T) {
	legacy := session.State{Era: session.Legacy, Version: "2025-11-25"}
	for agent, want := range map[string]string{
		``:                        ``,
		`{}`:                      ``,
		` { } `:                   ``,
		`{"b":1,"a":2}`:           `{"b":1,"a":2}`,
		`{ "b" : 1.0 , "a":1e2 }`: `{"b" : 1.0,"a":1e2}`,
		`{"s":"}\",{","o":{"x":[{},"]"]},"l":[1,[2]]}`:                               `{"s":"}\",{","o":{"x":[{},"]"]},"l":[1,[2]]}`,
		`{"io.modelcontextprotocol/clientInfo":{"a":"}"},"x":"<&>\u00e9"}`:           `{"x":"<&>\u00e9"}`,
		`{"x":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`:             `{"x":1}`,
		`{"io.modelcontextprotoco\u006c\/clientCapabilities":{}}`:                    ``,
		`{"io.modelcontextprotocol/logLevel":"debug","io.modelcontextprotocol/x":1}`: `{"io.modelcontextprotocol/x":1}`,
		`{"progressToken":9007199254740993}`:                                         `{"progressToken":9007199254740993}`,
	} {
		got, err := exchange.AppendMeta([]byte("#"), json.RawMessage(agent), legacy, "")
		if err != nil {
			t.Errorf("%s: %v", agent, err)
			continue
		}
		if want != "" {
			want = `,"_meta":` + want
		}
		if diff := cmp.Diff("#"+want, string(got)); diff != "" {
			t.Errorf("%s: -want +got\n%s", agent, diff)
		}
	}
}

func FuzzAppendMeta(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1}`, `{"io.modelcontextprotocol/clientInfo":{},"a":[{"}":"]"}]}`, `{"io.modelcontextprotocol\/logLevel":"x"}`, `{"a`, `[`} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, agent []byte, modern bool) {
		s := session.State{Era: session.Legacy, Version: "2025-11-25"}
		if modern {
			s = session.State{Era: session.Modern, Version: wire.Modern}
		}
		got, err := exchange.AppendMeta(nil, agent, s, "")
		if wire.ReadObject(agent) != nil {
			return // it never comes here; not to hang or panic is enough
		}
		if err != nil {
			t.Fatalf("%s: %v", agent, err)
		}
		text := `{"_meta":{}}`
		if len(got) > 0 {
			text = "{" + strings.TrimPrefix(string(got), ",") + "}"
		}
		var sent struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		}
		if refusal := wire.ReadObject([]byte(text)); refusal != nil {
			t.Fatalf("%s became %s: %v", agent, text, refusal)
		}
		if err := json.Unmarshal([]byte(text), &sent); err != nil {
			t.Fatal(err)
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(agent, &want); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{wire.MetaProtocolVersion, wire.MetaClientInfo, wire.MetaClientCapabilities} {
			delete(want, name)
			if _, ok := sent.Meta[name]; ok != modern {
				t.Fatalf("%s became %s", agent, text)
			}
			delete(sent.Meta, name)
		}
		if !modern {
			delete(want, "io.modelcontextprotocol/logLevel")
		}
		if len(want)+len(sent.Meta) > 0 {
			if diff := cmp.Diff(want, sent.Meta); diff != "" {
				t.Fatalf("%s became %s: -want +got\n%s", agent, text, diff)
			}
		}
	})
}
