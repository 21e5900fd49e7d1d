package stdio_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/stdio"
)

const client = `{"name":"mcprelay","version":"1.2.3"}`

// modernMeta is what the relay says of itself to a modern server.
const modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":` + client

func TestWhatAServerIsSent(t *testing.T) {
	tests := map[string][]string{
		"modern": {
			`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{` + modernMeta + `}}}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"a":1},"_meta":{` + modernMeta + `}}}`,
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"log","_meta":{` + modernMeta + `}}}`,
		},
		"legacy": {
			`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{` + modernMeta + `}}}`,
			`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":` + client + `}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}`,
			`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"log"}}`,
		},
	}
	for era, want := range tests {
		t.Run(era, func(t *testing.T) {
			p := newPool(t, nil)
			r := ask(scripted(script{Era: era}), "echo")
			r.Arguments = json.RawMessage(`{"a":1}`)
			result(t, p, r)
			if diff := cmp.Diff(want, logOf(t, p, r)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestMetaIsTheAgentsButForWhatSpeaksOfTheClient, whose words the relay's own
// replace.
func TestMetaIsTheAgentsButForWhatSpeaksOfTheClient(t *testing.T) {
	claims := `"io.modelcontextprotocol/protocolVersion":"2030-01-01","io.modelcontextprotocol/clientInfo":{"name":"agent"},"io.modelcontextprotocol/clientCapabilities":{"sampling":{}}`
	tests := map[string]struct {
		meta, trace    string
		modern, legacy string // members, besides the relay's own; "none" for no _meta
	}{
		"none":                {"", "", "", "none"},
		"empty":               {`{ }`, "", "", "none"},
		"claims only":         {`{` + claims + `}`, "", "", "none"},
		"claims in disguise":  {`{"io.modelcontextprotocol/clientInf\u006f":{"name":"agent"},"x":1}`, "", `"x":1`, `"x":1`},
		"others in their way": {`{"a":1.0,` + claims + `,"b":{"c":[9007199254740993]}}`, "", `"a":1.0,"b":{"c":[9007199254740993]}`, `"a":1.0,"b":{"c":[9007199254740993]}`},
		"a progress token":    {`{"progressToken":"7"}`, "", `"progressToken":"7"`, `"progressToken":"7"`},
		"a log level":         {`{"io.modelcontextprotocol/logLevel":"debug"}`, "", `"io.modelcontextprotocol/logLevel":"debug"`, "none"},
		"a trace":             {"", trace, `"traceparent":"` + trace + `"`, `"traceparent":"` + trace + `"`},
		"a trace of its own":  {`{"traceparent":"x"}`, trace, `"traceparent":"x"`, `"traceparent":"x"`},
		"a trace that is no":  {"", "00-abc", "", "none"},
		"a trace that quotes": {"", "cc" + trace[2:] + `-a"b`, "", "none"},
	}
	p := newPool(t, nil)
	for name, tt := range tests {
		for era, members := range map[string]string{stdio.Modern: tt.modern, stdio.Legacy: tt.legacy} {
			r := ask(scripted(script{Era: era}), "echo")
			r.Key, r.Traceparent = era, tt.trace
			if tt.meta != "" {
				r.Meta = json.RawMessage(tt.meta)
			}
			result(t, p, r)
			r.Traceparent = ""
			log := logOf(t, p, r)
			_, got, _ := strings.Cut(log[len(log)-2], `"arguments":{}`)
			want := "}}"
			switch {
			case era == stdio.Modern && members == "":
				want = `,"_meta":{` + modernMeta + `}}}`
			case era == stdio.Modern:
				want = `,"_meta":{` + members + `,` + modernMeta + `}}}`
			case members != "none":
				want = `,"_meta":{` + members + `}}}`
			}
			if got != want {
				t.Errorf("%s, %s: got %s, want %s", name, era, got, want)
			}
		}
	}
}

func TestAToolNameIsQuoted(t *testing.T) {
	p := newPool(t, nil)
	for _, name := range []string{`a"b\c`, "tab\tname", "émoji 🙂", "<script>&", "bad \xff byte"} {
		reply, err := p.Call(within(t), ask(scripted(script{}), name))
		if err != nil || reply.Error == nil || reply.Error.Code != -32602 {
			t.Errorf("%q: got %+v, error %v", name, reply, err)
		}
	}
}
