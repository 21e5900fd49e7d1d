package faults_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/test/hostile"
)

func messages() []row {
	return []row{
		{37, "what is no answer to this request gives none", noAnswers},
		{38, "what a server asks of the relay is counted, and the call goes on", serverRequests},
		{41, "an error that a method is unknown is an answer, and no lost session", unknownMethod},
		{44, "a server that is busy is named so, with the wait that it asks for", busy},
		{52, "a request that comes again under its id is a call of its own", again},
	}
}

func noAnswers(t *testing.T, k *stage) {
	message := func(members string) string { return `{"jsonrpc":"2.0",` + members + `}` }
	broken := map[string]string{
		"a foreign id":               message(`"id":"foreign","result":{"x":"` + bait + `"}`),
		"the next id":                message(`"id":99999999999,"result":{}`),
		"an id with a fraction":      message(`"id":1.5,"result":{}`),
		"no id":                      message(`"result":{}`),
		"a null id":                  message(`"id":null,"result":{}`),
		"an id in a list":            message(`"id":[$ID],"result":{}`),
		"a result and an error":      message(`"id":$ID,"result":{},"error":{"code":1,"message":"` + bait + `"}`),
		"neither":                    message(`"id":$ID`),
		"both null":                  message(`"id":$ID,"result":null,"error":null`),
		"two results":                message(`"id":$ID,"result":{},"result":{}`),
		"two ids":                    message(`"id":$ID,"id":$ID,"result":{}`),
		"a result of other letters":  message(`"id":$ID,"Result":{},"result":{}`),
		"a result that is a list":    message(`"id":$ID,"result":[]`),
		"a result that is text":      message(`"id":$ID,"result":"` + bait + `"`),
		"an error that is text":      message(`"id":$ID,"error":"` + bait + `"`),
		"an error without a code":    message(`"id":$ID,"error":{"message":"` + bait + `"}`),
		"a result type of nobody":    message(`"id":$ID,"result":{"resultType":"surprise"}`),
		"a result type that is none": message(`"id":$ID,"result":{"resultType":1}`),
		"another version":            `{"jsonrpc":"1.0","id":$ID,"result":{}}`,
		"no version":                 `{"id":$ID,"result":{}}`,
		"a list":                     `[` + message(`"id":$ID,"result":{}`) + `]`,
		"two messages":               message(`"id":$ID,"result":{}`) + message(`"id":$ID,"result":{}`),
		"a request":                  message(`"id":$ID,"method":"sampling/createMessage","params":{}`),
		"a notification":             progress,
		"a method and a result":      message(`"id":$ID,"method":"ping","result":{}`),
		"no JSON":                    bait,
		"half of one":                `{"jsonrpc":"2.0","id":$ID,"result":{"x":"`,
		"bytes that are no text":     message(`"id":$ID,"result":{"x":"` + "\xff" + `"}`),
		"a depth of 70":              message(`"id":$ID,"result":{"x":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`),
		"nothing":                    "",
	}
	// On a stream these are ignored, and the end of it is what is wrong.
	ignored := map[string]bool{"a foreign id": true, "the next id": true, "an id with a fraction": true, "no id": true, "a null id": true, "a notification": true, "nothing": true}
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		for name, text := range broken {
			s.under(name, func(s *scene) {
				s.on(hostile.JSON(text))
				s.ask(hostile.Ask{}, want{reason: call.Protocol, status: http.StatusOK})
				if strings.Contains(name, "request") {
					return // on a stream it is one of the server's own: row 38
				}
				w := want{reason: call.Protocol, status: http.StatusOK}
				if ignored[name] {
					w.reason = call.StreamEndedEarly
				}
				s.on(hostile.Stream(hostile.Event(text)))
				s.ask(hostile.Ask{Plain: true}, w)
			})
		}
		s.on(hostile.Result(`{"resultType":"input_required","inputRequests":{"x":{}}}`))
		s.both(want{reason: call.InputRequired, status: http.StatusOK})
		s.on(hostile.Status(http.StatusAccepted, "", ""))
		s.both(want{reason: call.Protocol, status: http.StatusAccepted})
		s.on(hostile.Status(http.StatusOK, "text/html", "<p>"+bait))
		s.both(want{reason: call.ContentType, status: http.StatusOK})
		answered(s)
	})
}

// answered: the leniencies that cost nothing, and the first of two answers.
func answered(s *scene) {
	foreign := hostile.Event(`{"jsonrpc":"2.0","id":"foreign","result":{"x":"` + bait + `"}}`)
	s.each([]variant{
		{"an answer behind a foreign one", hostile.Stream(foreign, foreign, hostile.Event(response))},
		{"the first of two", hostile.Stream(hostile.Event(response), hostile.Answer(`{"x":"`+bait+`"}`))},
		{"the id as a string", hostile.JSON(strings.Replace(response, "$ID", `"$ID"`, 1))},
		{"the id as a float", hostile.JSON(strings.Replace(response, "$ID", "$ID.0", 1))},
		{"an error that is null", hostile.JSON(strings.Replace(response, `"id"`, `"error":null,"id"`, 1))},
		{"a member of nobody", hostile.JSON(strings.Replace(response, `"id"`, `"x":{"y":[]},"id"`, 1))},
	}, want{result: done})
	const failure = `{"code":-32602,"message":"no <&> \u00e9","data":{"n":1.0}}`
	for _, id := range []string{"$ID", "null"} {
		s.on(hostile.Status(http.StatusBadRequest, "application/json", `{"jsonrpc":"2.0","id":`+id+`,"error":`+failure+`}`))
		s.ask(hostile.Ask{ID: `"agent's own"`}, want{failure: failure, code: -32602, status: http.StatusBadRequest})
	}
}

func serverRequests(t *testing.T, k *stage) {
	var events []string
	for i, method := range []string{"sampling/createMessage", "elicitation/create", "roots/list", "ping", "tools/call", "x/unknown"} {
		events = append(events, hostile.Event(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"x":%q}}`, i, method, bait)))
	}
	// Under the id of the relay's own request it is still a question.
	events = append(events, hostile.Event(`{"jsonrpc":"2.0","id":$ID,"method":"sampling/createMessage","params":{}}`))
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		before := len(s.up.Requests())
		s.on(hostile.Stream(append(events, hostile.Event(response))...))
		s.ask(hostile.Ask{}, want{result: done, requests: len(events)})
		s.ask(hostile.Ask{Plain: true}, want{result: done, requests: len(events)})
		s.on(hostile.Stream(events...))
		s.ask(hostile.Ask{}, want{reason: call.StreamEndedEarly, status: http.StatusOK, requests: len(events)})
		s.on(hostile.StreamOpen(append(events, hostile.Event(response))...))
		s.ask(hostile.Ask{}, want{result: done, requests: len(events)})
		s.counted("requests of any kind", len(s.up.Requests())-before, 4) // nothing was answered
	})
}

func unknownMethod(t *testing.T, k *stage) {
	const failure = `{"code":-32601,"message":"Method not found","data":{"method":"tools/call"}}`
	text := `{"jsonrpc":"2.0","id":$ID,"error":` + failure + `}`
	k.eras(t, hostile.Setup{}, func(_ *testing.T, s *scene) {
		for _, status := range []int{http.StatusNotFound, http.StatusOK, http.StatusBadRequest, http.StatusMethodNotAllowed} {
			s.on(hostile.Status(status, "application/json", text))
			s.ask(hostile.Ask{}, want{failure: failure, code: -32601, status: status})
			s.ask(hostile.Ask{Plain: true}, want{failure: failure, code: -32601, status: status})
		}
		s.on(nil)
		s.ask(hostile.Ask{}, want{}) // as before: nothing was forgotten
	})
}

func busy(t *testing.T, k *stage) {
	date := func(in time.Duration) string { return time.Now().Add(in).UTC().Format(http.TimeFormat) }
	k.eras(t, hostile.Setup{}, func(_ *testing.T, s *scene) {
		for value, seconds := range map[string]int{"7": 7, "3600": 3600, "999999": 3600, "99999999999999999999": 0, "0": 0, "-5": 0, "1.5": 0, "soon": 0, bait: 0, date(-time.Hour): 0, date(100 * time.Hour): 3600} {
			s.on(hostile.Status(http.StatusTooManyRequests, "text/plain", "later", "Retry-After: "+value))
			s.ask(hostile.Ask{}, want{reason: call.UpstreamStatus, status: http.StatusTooManyRequests, retry: seconds, detail: "later"})
		}
		for _, status := range []int{http.StatusServiceUnavailable, http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout} {
			s.on(hostile.Status(status, "text/html", "<p>"+bait, "Retry-After: 7"))
			s.both(want{reason: call.UpstreamStatus, status: status, retry: 7})
			s.on(hostile.Status(status, "application/json", response, "Retry-After: 7")) // a result of a failure is none
			s.ask(hostile.Ask{}, want{reason: call.UpstreamStatus, status: status, retry: 7})
		}
	})
	t.Run("while the server is opened", func(t *testing.T) {
		k.cold(t, hostile.Setup{}, func(_ *testing.T, s *scene) {
			for _, method := range []string{"server/discover", "initialize"} {
				s.up.On(method, hostile.Status(http.StatusServiceUnavailable, "text/plain", "later", "Retry-After: 9"))
			}
			s.both(want{reason: call.InitializeFailed, status: http.StatusServiceUnavailable, posts: none, session: "-", retry: 9})
		})
	})
}

func again(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		s.on(hostile.Sequence(hostile.Reset, s.up.Honest))
		first := s.ask(hostile.Ask{ID: `"x"`, Arguments: `{"n":1}`}, want{reason: call.ResetBeforeHead})
		second := s.ask(hostile.Ask{ID: `"x"`, Arguments: `{"n":1}`}, want{})
		if first.Record.CallID == second.Record.CallID {
			t.Error("both calls have one record")
		}
		ids := map[string]bool{}
		for _, r := range s.up.Requests() {
			if r.Method == "tools/call" {
				ids[r.ID] = true
			}
		}
		s.counted("different ids", len(ids), s.up.Calls())
	})
}
