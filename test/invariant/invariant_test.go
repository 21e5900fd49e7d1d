package invariant_test

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"mcprelay/shared/audit"
	"mcprelay/test/invariant"
)

const (
	secret = "up+stream/credential?9"
	token  = "agent-token-of-ci"
)

// sound is a run of three calls in which nothing is wrong.
func sound() *invariant.Run {
	return &invariant.Run{
		Calls: []invariant.Call{
			{ID: "1", Body: `{"jsonrpc":"2.0","id":1,"result":{"n":1.0}}`, Whole: `{"n":1.0}`},
			{ID: `"b"`, Body: `{"jsonrpc":"2.0","id":"b","error":{"code":-31010,"message":"call: it ended"}}`},
			{Body: `{"call_id":"c","outcome":"answered","error":{"code":7,"message":"no"}}`, Whole: `{"code":7,"message":"no"}`},
			{ID: "4", Body: `{"jsonrpc":"2.0","id":4,"error":{"code":-31002,"message":"policy: no"}}`},
		},
		Intents: []invariant.Intent{{CallID: "a"}, {CallID: "b", Posts: 1}, {CallID: "c", Posts: 2}},
		Finals: []audit.Record{
			{CallID: "a", State: audit.StateFinal, Posts: 1},
			{CallID: "b", State: audit.StateFinal, Posts: 1},
			{CallID: "c", State: audit.StateFinal, Posts: 2, Session: "reused", SessionLost: true},
			{CallID: "d", State: audit.StateFinal},
		},
		Posts:    4,
		Texts:    map[string]string{"the log": `{"call_id":"a"}`},
		Sent:     []string{"Authorization: Bearer " + secret},
		Secrets:  []string{secret},
		Tokens:   []string{token},
		Sessions: []string{"session-1"},
		Canaries: map[string]int{"127.0.0.1:80": 0},
	}
}

func TestNothingIsSaidOfASoundRun(t *testing.T) {
	if got := sound().Violations(); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestEachInvariantIsMissedWhereItIsBroken(t *testing.T) {
	for _, row := range []struct {
		rule    string
		want    string
		breakIt func(*invariant.Run)
	}{
		{"a call without a final", "I1: call b has an intent and no final", func(r *invariant.Run) { r.Finals = append(r.Finals[:1], r.Finals[2:]...) }},
		{"a call that left nothing", "I1: 4 calls left 3 finals", func(r *invariant.Run) { r.Finals = r.Finals[:3] }},
		{"two finals", "I1: call d has 2 finals", func(r *invariant.Run) { r.Finals = append(r.Finals, r.Finals[3]) }},
		{"a final that is none", "I1: call d ended in state \"intent\"", func(r *invariant.Run) { r.Finals[3].State = audit.StateIntent }},
		{"no intent", "I1: call c was made without an intent", func(r *invariant.Run) { r.Intents = r.Intents[:2] }},
		{"two intents", "I1: call a has two intents", func(r *invariant.Run) { r.Intents = append(r.Intents, r.Intents[0]) }},
		{"an intent that came too late", "I1: 2 POSTs came before the intent of b, the calls before it account for 1", func(r *invariant.Run) { r.Intents[1].Posts = 2 }},
		{"a replay", "I2: 2 POSTs of call c, 1 allowed", func(r *invariant.Run) { r.Finals[2].SessionLost = false }},
		{"three tries", "I2: 3 POSTs of call c, 2 allowed", func(r *invariant.Run) { r.Finals[2].Posts, r.Posts = 3, 5 }},
		{"a POST that no record counts", "I2: servers saw 5 POSTs, the records count 4", func(r *invariant.Run) { r.Posts++ }},
		{"a token on the log", "I3: the log holds token 0", func(r *invariant.Run) { r.Texts["the log"] += token }},
		{"a session id in a reply", "I3: reply 1 holds session id 0", func(r *invariant.Run) { r.Calls[1].Body = strings.Replace(r.Calls[1].Body, "ended", "session-1", 1) }},
		{"a token in a header of a reply", "I3: reply 0 holds token 0", func(r *invariant.Run) { r.Calls[0].Header = "X: " + token }},
		{"a token that was passed on", "I3: request 0 to a server holds token 0", func(r *invariant.Run) { r.Sent[0] += token }},
		{"a part of a result", "I4: reply 0 holds", func(r *invariant.Run) { r.Calls[0].Whole = `{"n":1.0,"more":true}` }},
		{"other digits", "I4: reply 0 holds", func(r *invariant.Run) { r.Calls[0].Body = strings.Replace(r.Calls[0].Body, "1.0", "1", 1) }},
		{"a result that was made up", "I4: reply 0 holds", func(r *invariant.Run) { r.Calls[0].Whole = "" }},
		{"a refusal instead of an answer", "I4: reply 1 holds", func(r *invariant.Run) { r.Calls[1].Whole = `{}` }},
		{"another's error", "I4: reply 2 holds", func(r *invariant.Run) { r.Calls[2].Whole = `{"code":8}` }},
		{"another id", `I4: reply 1 has the id "b", want 2`, func(r *invariant.Run) { r.Calls[1].ID = "2" }},
		{"no message", "I4: reply 3 is no JSON", func(r *invariant.Run) { r.Calls[3].Body = "<html>" }},
		{"a connection", "I5: 127.0.0.1:80 saw 1 connections", func(r *invariant.Run) { r.Canaries["127.0.0.1:80"]++ }},
	} {
		t.Run(row.rule, func(t *testing.T) {
			r := sound()
			row.breakIt(r)
			if got := r.Violations(); !strings.Contains("\n"+strings.Join(got, "\n"), "\n"+row.want) {
				t.Errorf("got %q, want %q among them", got, row.want)
			}
		})
	}
}

// Whatever stands around a secret in a text that is encoded, it is found.
func TestASecretIsFoundInEachOfItsForms(t *testing.T) {
	around := []string{"", "a", "ab", "abc", "user:", "longer than that: "}
	spellings := []string{
		secret, "up%2Bstream%2Fcredential%3F9", "up+stream%2Fcredential%3F9", `up+stream\/credential?9`,
		hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))),
	}
	for _, before := range around {
		for _, after := range around {
			text := []byte(before + secret + after)
			spellings = append(spellings, base64.StdEncoding.EncodeToString(text), base64.URLEncoding.EncodeToString(text))
		}
	}
	for _, spelling := range spellings {
		r := sound()
		r.Texts["a record"] = "x" + spelling + "y"
		if got := strings.Join(r.Violations(), "\n"); !strings.Contains(got, "I3: a record holds secret 0") {
			t.Errorf("%s: got %q", spelling, got)
		}
	}
}
