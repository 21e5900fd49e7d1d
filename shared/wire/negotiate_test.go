package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/wire"
)

func TestTheNewestCommonVersionIsChosen(t *testing.T) {
	for _, row := range []struct {
		rule     string
		versions []string
		refused  string
		want     string // empty: none
	}{
		{"the newest, wherever it stands", []string{"2024-11-05", "2026-07-28", "2025-11-25"}, "", "2026-07-28"},
		{"not one that the relay does not speak", []string{"2099-01-01", "2025-03-26"}, "", "2025-03-26"},
		{"not the one that was refused", []string{"2026-07-28", "2025-11-25"}, "2026-07-28", "2025-11-25"},
		{"none where that is the only one", []string{"2026-07-28"}, "2026-07-28", ""},
		{"none of unknown ones", []string{"2099-01-01", "", "1"}, "", ""},
		{"none of none", nil, "", ""},
	} {
		got, ok := wire.ChooseVersion(row.versions, row.refused)
		if got != row.want || ok != (row.want != "") {
			t.Errorf("%s: want %q, got %q, %v", row.rule, row.want, got, ok)
		}
	}
}

func TestAListOfVersionsIsReadOrNil(t *testing.T) {
	for object, want := range map[string][]string{
		`{"supported":["a","b"]}`:     {"a", "b"},
		`{"x":1,"supported":[]}`:      {},
		`{"supported":null}`:          nil,
		`{"supported":"2025-11-25"}`:  nil,
		`{"supported":["a",1]}`:       nil,
		`{"supportedVersions":["a"]}`: nil,
		`{}`:                          nil,
		`["supported"]`:               nil,
		``:                            nil,
	} {
		got := wire.ListedVersions(json.RawMessage(object), "supported")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", object, diff)
		}
	}
}

func TestANegotiatedVersionIsOneWithAHandshake(t *testing.T) {
	for result, want := range map[string]struct {
		version string
		ok      bool
	}{
		`{"protocolVersion":"2025-11-25"}`:  {"2025-11-25", true},
		`{"protocolVersion":"2024-11-05"}`:  {"2024-11-05", true},
		`{"protocolVersion":"2026-07-28"}`:  {"2026-07-28", false},
		`{"protocolVersion":"2024-10-07"}`:  {"2024-10-07", false},
		`{"protocolVersion":""}`:            {"", false},
		`{"protocolVersion":20251125}`:      {"20251125", false},
		`{"protocolversion":"2025-11-25"}`:  {"", false},
		`{"capabilities":{},"x":"a\u0020"}`: {"", false},
	} {
		version, ok := wire.NegotiatedVersion(json.RawMessage(result))
		if version != want.version || ok != want.ok {
			t.Errorf("%s: want %q, %v, got %q, %v", result, want.version, want.ok, version, ok)
		}
	}
}

func TestWordsThatRefuseAVersion(t *testing.T) {
	for text, want := range map[string]bool{
		"Unsupported protocol version":                             true,
		"Bad Request: Unsupported protocol version: 2026-07-28":    true,
		"UNSUPPORTED PROTOCOL VERSION":                             true,
		"the protocol version is not supported":                    true,
		"Invalid MCP-Protocol-Version header":                      true,
		"unknown mcp-protocol-version":                             true,
		"The MCP-Protocol-Version header value 'x' not supported":  true,
		"missing MCP-Protocol-Version header":                      false,
		"invalid protocol version":                                 false,
		"protocol_version is not supported":                        false,
		"unsupported API version":                                  false,
		"version not supported":                                    false,
		"":                                                         false,
		strings.Repeat(" ", 990) + "protocol version unsupported":  true,
		strings.Repeat(" ", 1024) + "protocol version unsupported": false,
	} {
		if got := wire.RefusesVersion(text); got != want {
			t.Errorf("%q: want %v, got %v", strings.TrimSpace(text), want, got)
		}
	}
}

func TestClientInfoIsJSONWhateverTheNames(t *testing.T) {
	for name, want := range map[string]string{
		"mcprelay":   `{"name":"mcprelay","version":"1.2"}`,
		"a\"b\\c\n":  `{"name":"a\"b\\c\n","version":"1.2"}`,
		"<é>":        `{"name":"<é>","version":"1.2"}`,
		"bad \xff !": `{"name":"bad ` + "\ufffd" + ` !","version":"1.2"}`,
	} {
		got := wire.ClientInfo(name, "1.2")
		if string(got) != want || !json.Valid(got) {
			t.Errorf("%q: want %s, got %s", name, want, got)
		}
	}
}
