package cases_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/test/hostile"
)

// Section C, second part: statuses and errors.
func statuses() []row {
	return []row{
		{"C31", "an error with our id is passed on, whatever the status", errorWithStatus},
		{"C32", "an error's code, message and data are kept to the byte", errorsKept},
		{"C33", "a JSON-RPC code is never an HTTP status, and a body that cannot be read is 400", codesAndStatuses},
		{"C34", "a server's challenge is recorded whole and never forwarded", challenges},
		{"C35", "Retry-After is handed on, and nothing is tried again", retryLater},
	}
}

func errorWithStatus(t *testing.T, k *stage) {
	const failure = `{"code":-32603,"message":"Internal error","data":{"trace":"abc"}}`
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		for _, status := range []int{200, 202, 400, 405, 409, 422, 429, 500, 502, 503} {
			for _, kind := range []string{"application/json", "application/json; charset=utf-8"} {
				s.up.On("tools/call", hostile.Status(status, kind, `{"jsonrpc":"2.0","id":$ID,"error":`+failure+`}`))
				s.ask(hostile.Ask{}, want{failure: failure, status: status, session: hostile.Held(s.up.Era())})
			}
		}
		s.up.On("tools/call", hostile.Status(500, "application/json", `{"jsonrpc":"2.0","id":"foreign","error":`+failure+`}`))
		s.ask(hostile.Ask{}, want{reason: call.UpstreamStatus, effect: call.ImpactUnknown, status: 500})
		s.up.On("tools/call", hostile.Status(500, "application/json", response))
		s.ask(hostile.Ask{}, want{reason: call.UpstreamStatus, effect: call.ImpactUnknown, status: 500})
	})
}

func errorsKept(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		for _, failure := range []string{
			`{"code":-32050,"message":"custom","data":{"b":1,"a":[1.0,1e2,9007199254740993]}}`,
			`{"code": -32050, "message": "custom", "data": null}`,
			`{"message":"before the code","code":-32603}`,
			`{"code":1,"message":""}`,
			`{"code":-32000,"message":"<&> \u00e9 \/","data":"text"}`,
			`{"code":123456789012,"message":"large","data":-0}`,
			`{"code":-32603,"message":"more","data":{},"more":{"x":[]}}`,
			`{"code":0,"message":"zero","data":[{"nested":[[]]}]}`,
		} {
			for _, text := range []string{`{"jsonrpc":"2.0","id":$ID,"error":` + failure + `}`, `{"error":` + failure + `,"id":$ID,"jsonrpc":"2.0"}`} {
				s.up.On("tools/call", hostile.JSON(text))
				s.ask(hostile.Ask{}, want{failure: failure, session: hostile.Held(s.up.Era())})
				s.up.On("tools/call", hostile.Stream(hostile.Event(text)))
				s.ask(hostile.Ask{Modern: true}, want{failure: failure})
			}
		}
	})
}

func codesAndStatuses(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		for _, code := range []string{"200", "404", "401", "500", "301", "-32700", "-32601"} {
			failure := `{"code":` + code + `,"message":"m"}`
			s.up.On("tools/call", hostile.JSON(`{"jsonrpc":"2.0","id":$ID,"error":`+failure+`}`))
			s.ask(hostile.Ask{}, want{failure: failure})
		}
		before := len(s.up.Requests())
		for _, body := range []string{" ", "\n", "{", "nonsense", `{"jsonrpc":"2.0","id":1,"method":"tools/call"`, "\x00", `{"a":1}{"b":2}`, "\xff\xfe{}"} {
			for _, all := range []bool{false, true} {
				reply := s.relay.Ask(t.Context(), t, hostile.Ask{All: all, Body: body})
				if failure := reply.Error(); reply.Status != http.StatusBadRequest || failure.Code != -32700 {
					t.Errorf("%q: got %d %s, want 400 and -32700", body, reply.Status, reply.Body)
				}
			}
		}
		s.counted("requests", len(s.up.Requests()), before)
	})
}

func challenges(t *testing.T, k *stage) {
	trap := hostile.Start(t, hostile.Options{TLS: hostile.TLS{Plain: true}, Lenient: true})
	const unauthorized = `Bearer realm="x", scope="a b", error="invalid_token", error_description="it has expired", resource_metadata="`
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		for _, status := range []int{401, 403} {
			for _, kind := range []string{"", "application/json", "text/html"} {
				challenge := unauthorized + trap.URL() + `"`
				s.up.On("tools/call", hostile.Status(status, kind, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32001,"message":"no"}}`, "WWW-Authenticate: "+challenge))
				reply := s.ask(hostile.Ask{}, want{reason: call.UpstreamUnauthorized, effect: call.ImpactNone, status: status, session: hostile.Held(s.up.Era())})
				if reply.Record.Challenge != challenge {
					t.Errorf("the record has the challenge %q, want %q", reply.Record.Challenge, challenge)
				}
				if got := reply.Header.Get("WWW-Authenticate"); got != "" || strings.Contains(reply.Body, "realm") {
					t.Errorf("the agent got the challenge %q, %s", got, reply.Body)
				}
			}
		}
		reply := s.relay.Ask(t.Context(), t, hostile.Ask{Header: http.Header{"Authorization": {"Bearer of-nobody-at-all"}}})
		if got := reply.Header.Get("WWW-Authenticate"); reply.Status != 401 || !strings.HasPrefix(got, "Bearer ") || strings.Contains(got, `"x"`) {
			t.Errorf("the relay's own refusal: %d, challenge %q", reply.Status, got)
		}
	})
	if got := len(trap.Requests()); got != 0 {
		t.Errorf("the metadata of a challenge was fetched %d times, want never", got)
	}
}

func retryLater(t *testing.T, k *stage) {
	date := time.Now().Add(7 * time.Minute).UTC().Format(http.TimeFormat)
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		for _, status := range []int{429, 503} {
			for _, v := range []struct {
				name, value string
				least, most int
			}{
				{"seconds", "7", 7, 7},
				{"a date", date, 400, 420},
				{"too long", "86400", 3600, 3600},
				{"a date in the past", "Mon, 02 Jan 2006 15:04:05 GMT", 0, 0},
				{"negative", "-5", 0, 0},
				{"nonsense", "soon", 0, 0},
				{"nothing", "", 0, 0},
			} {
				var headers []string
				if v.value != "" {
					headers = append(headers, "Retry-After: "+v.value)
				}
				s.up.On("tools/call", hostile.Status(status, "text/plain", "slow down", headers...))
				reply := s.ask(hostile.Ask{}, want{reason: call.UpstreamStatus, effect: call.ImpactUnknown, status: status})
				if got := reply.Error().RetryAfter; got < v.least || got > v.most {
					t.Errorf("%d, %s: the agent is told to wait %d s, want %d to %d", status, v.name, got, v.least, v.most)
				}
				if got := reply.Header.Get("Retry-After"); (got == "") != (v.most == 0) {
					t.Errorf("%d, %s: Retry-After is %q", status, v.name, got)
				}
			}
		}
	})
	for _, method := range []string{"server/discover", "initialize", "notifications/initialized"} {
		up := hostile.Start(t, hostile.Options{Era: hostile.Sessionless, On: map[string]hostile.Script{method: hostile.Status(429, "", "", "Retry-After: 7")}})
		s := k.before(t, up, hostile.Setup{})
		opened := 1
		if method == "server/discover" {
			opened = 0
		}
		reply := s.ask(hostile.Ask{}, want{reason: call.InitializeFailed, effect: call.ImpactNone, calls: none, opened: opened, status: 429})
		if got := reply.Error().RetryAfter; got != 7 {
			t.Errorf("%s: the agent is told to wait %d s, want 7", method, got)
		}
	}
}

// A server may give several challenges, as header lines or in one (RFC 9110
// section 11.6.1): all are recorded.
func TestEveryChallengeIsRecorded(t *testing.T) {
	k := &stage{store: hostile.Open(t)}
	s := k.warm(t, hostile.Legacy, hostile.Setup{})
	s.up.On("tools/call", hostile.Status(401, "", "", `WWW-Authenticate: Basic realm="first"`, `WWW-Authenticate: Bearer realm="second", scope="a b"`))
	reply := s.ask(hostile.Ask{}, want{reason: call.UpstreamUnauthorized, effect: call.ImpactNone, status: 401})
	for _, want := range []string{`realm="first"`, `realm="second"`, `scope="a b"`} {
		if !strings.Contains(reply.Record.Challenge, want) {
			t.Errorf("the record has %q, want %s in it", reply.Record.Challenge, want)
		}
	}
}
