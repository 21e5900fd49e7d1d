package cases_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/test/hostile"
)

// Section F: what agents write, on both MCP paths.
func requests() []row {
	return []row{
		{"F62", "an id that a server spells otherwise is ours, and the agent gets its own", spelledID},
		{"F63", "an id is echoed to the byte, and what is none is refused", agentIDs},
		{"F64", "a member in another case is refused, never another member", refused(call.BadParams, -32602,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"$TOOL","Name":"change"}}`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"Name":"change","name":"$TOOL"}}`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"$TOOL","N\u0041ME":"change"}}`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"$TOOL","Arguments":{"a":1}}}`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"$TOOL","argument`+"\u017f"+`":{"a":1}}}`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"$TOOL","_Meta":{}}}`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"$TOOL","_meta":{"progressTo`+"\u212a"+`en":1}}}`,
			`{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"$TOOL","NAME":"x"}}`,
			`{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"test://a","URI":"test://b"}}`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"Cursor":"x"}}`,
		).and(call.BadRequest, -32600,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","Method":"tools/list","params":{"name":"$TOOL"}}`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","param`+"\u017f"+`":{"name":"change"},"params":{"name":"$TOOL"}}`,
			`{"jsonrpc":"2.0","id":7,"ID":8,"method":"tools/call","params":{"name":"$TOOL"}}`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","PARAMS":{"name":"$TOOL"}}`,
			`{"JSONRPC":"2.0","jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"$TOOL"}}`,
		).row},
		{"F66", "a member that is there twice is refused, however it is spelled", refused(call.BadJSON, -32700,
			`{"jsonrpc":"2.0","id":7,"method":"tools/list","method":"tools/call","params":{"name":"$TOOL"}}`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"$TOOL","arguments":{},"arguments":{"a":1}}}`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"$TOOL","n\u0061me":"change"}}`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"$TOOL","arguments":{"a":{"b":1,"b":2}}}}`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"$TOOL","arguments":{"a":1,"\u0061":2}}}`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"$TOOL"},"params":{"name":"$TOOL"}}`,
			`{"jsonrpc":"2.0","jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"$TOOL"}}`,
		).and(call.BadJSON, -32700, // whose id nobody can tell
			`{"jsonrpc":"2.0","id":7,"id":8,"method":"tools/call","params":{"name":"$TOOL"}}`,
		).row},
		{"F67", "an array is refused, whatever stands before it", refused(call.BadRequest, -32600,
			`[{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"$TOOL"}}]`,
			" \r\n\t"+`[{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"$TOOL"}}]`,
			"\ufeff"+`[{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"$TOOL"}}]`,
			"\ufeff \n[]", `[]`, `[[]]`, `[1]`,
			`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`,
			`[{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"$TOOL"}},{"jsonrpc":"2.0","id":8,"method":"ping"}]`,
		).row},
		{"F68", "a request whose id is null is refused", refused(call.BadRequest, -32600,
			`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"$TOOL"}}`,
			`{"id":null,"jsonrpc":"2.0","method":"tools/list"}`,
			`{"jsonrpc":"2.0","id":null,"method":"ping"}`,
			`{"jsonrpc":"2.0","id":null,"method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"$TOOL"}}`, // and one without any
		).row},
		{"F69", "arguments and results keep every byte", exactBytes},
	}
}

// paths runs a part of a case on the path of one server and on that of all.
func (s *scene) paths(part func(s *scene, all bool)) {
	s.t.Helper()
	for _, all := range []bool{false, true} {
		s.under(fmt.Sprintf("all=%v", all), func(s *scene) { part(s, all) })
	}
}

// unread are bodies that are refused, and how.
type unread struct {
	bodies []string
	reason call.Reason
	code   int64
	next   *unread
}

func refused(reason call.Reason, code int64, bodies ...string) *unread {
	return &unread{bodies: bodies, reason: reason, code: code}
}

func (u *unread) and(reason call.Reason, code int64, bodies ...string) *unread {
	return &unread{bodies: bodies, reason: reason, code: code, next: u}
}

// row refuses each body with 400 on both paths, sends nothing upstream, and
// answers the next honest request.
func (u *unread) row(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		s.t = t
		s.paths(func(s *scene, all bool) {
			before := len(s.up.Requests())
			for u := u; u != nil; u = u.next {
				for _, body := range u.bodies {
					s.rejected(hostile.Ask{All: all, Body: strings.ReplaceAll(body, "$TOOL", map[bool]string{false: "echo", true: "up__echo"}[all])}, u.reason, u.code)
				}
			}
			s.counted("requests", len(s.up.Requests()), before)
			s.ask(hostile.Ask{All: all}, want{session: hostile.Held(s.up.Era())})
		})
	})
}

// rejected fails the test unless the body is refused for a reason, under its
// own id where it has exactly one.
func (s *scene) rejected(a hostile.Ask, reason call.Reason, code int64) {
	s.t.Helper()
	reply := s.relay.Ask(s.t.Context(), s.t, a)
	if failure := reply.Error(); reply.Status != http.StatusBadRequest || failure.Code != code || failure.Reason != reason || failure.Effect != call.ImpactNone {
		s.t.Errorf("%s: got %d %s, want 400, %d and %s", a.Body, reply.Status, reply.Body, code, reason)
	}
	if id := reply.ID(); id != "7" && id != "null" {
		s.t.Errorf("%s: got the id %s", a.Body, id)
	}
}

func spelledID(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		s.t = t
		s.paths(func(s *scene, all bool) {
			for _, id := range []string{"1", `"1"`, `"abc"`, "9007199254740993", `""`} {
				for _, spelled := range []string{`"$ID"`, "$ID.0", "$ID"} {
					s.up.On("tools/call", hostile.JSON(`{"jsonrpc":"2.0","id":`+spelled+`,"result":`+hello+`}`))
					if got := s.ask(hostile.Ask{All: all, ID: id}, want{result: hello}).ID(); got != id {
						s.t.Errorf("asked with id %s, got %s", id, got)
					}
				}
			}
		})
	})
}

func agentIDs(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		s.t = t
		s.paths(func(s *scene, all bool) {
			for _, id := range []string{`"abc"`, `"1"`, "1", "0", "9007199254740993", "-1", `""`, `"\u00e9<&>\/"`, `"😀"`, "9223372036854775807", `"` + strings.Repeat("i", 256) + `"`} {
				for _, a := range []hostile.Ask{{}, {Modern: true}, {Method: "tools/list"}, {Method: "ping"}, {Method: "no/such"}} {
					a.All, a.ID = all, id
					if got := s.relay.Ask(s.t.Context(), s.t, a).ID(); got != id {
						s.t.Errorf("%s: asked with id %s, got %s", a.Method, id, got)
					}
				}
			}
			before := len(s.up.Requests())
			for _, id := range []string{"1.5", "1.0", "1e2", "true", "false", "{}", "[]", "[1]", `{"a":1}`, "null"} {
				for _, method := range []string{"", "tools/list", "ping", "initialize"} {
					s.rejected(hostile.Ask{All: all, ID: id, Method: method}, call.BadRequest, -32600)
				}
			}
			s.counted("requests", len(s.up.Requests()), before)
		})
	})
}

func exactBytes(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		s.t = t
		s.paths(func(s *scene, all bool) {
			for _, value := range []string{
				"9007199254740993", "9223372036854775807", "1.0", "1e2", "-0", "0.1e-7", "1E+400", `"<&>\u003c\/\ud83d\ude00 😀"`, `"\u0000"`,
				`{"z":1,"a":{"y":1,"b":2},"":null}`, "[ 1 ,\t2\r\n]", `"` + strings.Repeat("\u2028", 3) + `"`,
			} {
				arguments := `{"v":` + value + `}`
				for _, modern := range []bool{false, true} {
					wanted := echoed(s.up, arguments)
					reply := s.ask(hostile.Ask{All: all, Modern: modern, Arguments: arguments}, want{session: hostile.Held(s.up.Era())})
					if got := reply.Result(); !modern && got != wanted || !strings.Contains(got, `"structuredContent":{"echo":`+arguments+`}`) {
						s.t.Errorf("got %s, want %s", got, wanted)
					}
					if got := string(s.up.Last("tools/call").Params); !strings.Contains(got, `"arguments":`+arguments) {
						s.t.Errorf("the server got %s, want arguments %s", got, arguments)
					}
				}
			}
		})
	})
}
