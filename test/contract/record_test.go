package contract_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
)

// racers is how many try at once where one may win.
const racers = 64

func recordChecks() []check {
	return []check{
		{"an intent is read back as it was written", nothing, intentIsReadBack},
		{"a final completes its intent in place", nothing, finalCompletesIntent},
		{"a final needs no intent", nothing, finalWithoutIntent},
		{"an approval is kept, though no policy ran and it is about no tool", nothing, approvalIsKept},
		{"the store sets the state, not the caller", nothing, storeSetsState},
		{"a second intent of a call is refused and changes nothing", nothing, secondIntent},
		{"a second final is refused and changes nothing", nothing, secondFinal},
		{"an intent after the final is refused", nothing, intentAfterFinal},
		{"a call id that is no ULID is refused", nothing, badCallID},
		{"a record without a tenant is refused", nothing, noTenant},
		{"a record over 350 KB is refused and one below is kept", nothing, recordBound},
		{"names in any script are kept", nothing, unicodeRecord},
		{"one of many intents of a call wins", concurrency, intentRace},
		{"one of many finals of a call wins", concurrency, finalRace},
		{"records of many writers at once are all kept", concurrency, manyWriters},
	}
}

// full is a record with something in every field.
func full(tenant string) audit.Record {
	r := intent(tenant, now())
	r.KeyID, r.Issuer, r.Face, r.Run = "k1234567", "https://id.example.com", call.FacePlain, "run-1"
	r.Traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	r.Rule, r.Reasons = "mcp.docs.tool.*", []string{"a reason", `another, with "quotes" and <&>`}
	r.ArgumentsBytes, r.ArgumentsPreview, r.ArgumentsDigest = 31, `{"n":9007199254740993,"f":1.0}`, "ab12"
	r.Host, r.Address, r.Status, r.Era = "mcp.example.com", "192.0.2.1:443", 200, "legacy"
	r.ProtocolVersion, r.Session, r.Posts, r.Location = "2025-11-25", "reused", 1, "elsewhere.example.com"
	r.ServerRequests, r.Secrets = 2, []audit.SecretUse{{Ref: "docs", Version: "v1"}, {Ref: "other"}}
	r.SecretRenewed, r.Masked, r.BytesOut, r.BytesIn, r.RPCCode = true, 3, 1<<40, 1<<41, -32602
	r.Detail = "first line\nsecond line\x00\x7f"
	return r
}

func intentIsReadBack(t *testing.T, _ peer, s store) {
	r := full(newTenant())
	must(t, s.Intent(t.Context(), r))
	wantRecords(t, read(t, s, lately(r.Tenant)), r)
}

func finalCompletesIntent(t *testing.T, _ peer, s store) {
	r := full(newTenant())
	must(t, s.Intent(t.Context(), r))
	must(t, s.Final(t.Context(), final(r)))
	wantRecords(t, read(t, s, lately(r.Tenant)), final(r))
}

func finalWithoutIntent(t *testing.T, _ peer, s store) {
	r := final(full(newTenant()))
	must(t, s.Final(t.Context(), r))
	wantRecords(t, read(t, s, lately(r.Tenant)), r)
}

func approvalIsKept(t *testing.T, _ peer, s store) {
	r := intent(newTenant(), now())
	r.Operation, r.About, r.Tool, r.Face = call.OperationApprove, "approve", "", call.FaceInternal
	r.Decision, r.ToolEffect, r.Detail = "", "", `tools 0123: "look" from none to 4567`
	must(t, s.Intent(t.Context(), r))
	wantRecords(t, read(t, s, lately(r.Tenant)), r)
	must(t, s.Final(t.Context(), final(r)))
	of := lately(r.Tenant)
	of.Server = r.Server
	wantRecords(t, read(t, s, of), final(r))
}

func storeSetsState(t *testing.T, _ peer, s store) {
	r := intent(newTenant(), now())
	r.State = audit.StateFinal
	must(t, s.Intent(t.Context(), r))
	r.State = audit.StateIntent
	wantRecords(t, read(t, s, lately(r.Tenant)), r)
	must(t, s.Final(t.Context(), r))
	r.State = audit.StateFinal
	wantRecords(t, read(t, s, lately(r.Tenant)), r)
}

func secondIntent(t *testing.T, p peer, s store) {
	r := intent(newTenant(), now())
	must(t, s.Intent(t.Context(), r))
	wantErr(t, s.Intent(t.Context(), r), p.exists)
	other := r
	other.Agent = "somebody-else"
	wantErr(t, s.Intent(t.Context(), other), p.exists)
	wantRecords(t, read(t, s, lately(r.Tenant)), r)
}

func secondFinal(t *testing.T, p peer, s store) {
	for name, prepare := range map[string]func(audit.Record) error{
		"after an intent":   func(r audit.Record) error { return s.Intent(t.Context(), r) },
		"without an intent": func(audit.Record) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			r := intent(newTenant(), now())
			must(t, prepare(r))
			must(t, s.Final(t.Context(), final(r)))
			second := final(r)
			second.Outcome, second.Detail = call.NoAnswer, "a second opinion"
			wantErr(t, s.Final(t.Context(), second), p.alreadyFinal)
			wantErr(t, s.Final(t.Context(), final(r)), p.alreadyFinal)
			wantRecords(t, read(t, s, lately(r.Tenant)), final(r))
		})
	}
}

func intentAfterFinal(t *testing.T, p peer, s store) {
	r := intent(newTenant(), now())
	must(t, s.Final(t.Context(), final(r)))
	wantErr(t, s.Intent(t.Context(), r), p.exists)
	wantRecords(t, read(t, s, lately(r.Tenant)), final(r))
}

func badCallID(t *testing.T, _ peer, s store) {
	for _, id := range []string{"", "call-1", strings.Repeat("Z", 26), strings.Repeat("0", 27)} {
		r := intent(newTenant(), now())
		r.CallID = id
		if s.Intent(t.Context(), r) == nil || s.Final(t.Context(), r) == nil {
			t.Errorf("call id %q was kept", id)
		}
	}
}

func noTenant(t *testing.T, _ peer, s store) {
	r := intent("", now())
	if s.Intent(t.Context(), r) == nil || s.Final(t.Context(), r) == nil {
		t.Error("a record of nobody was kept")
	}
}

func recordBound(t *testing.T, p peer, s store) {
	r := intent(newTenant(), now())
	r.Detail = strings.Repeat("x", 345<<10)
	must(t, s.Intent(t.Context(), r))
	wantRecords(t, read(t, s, lately(r.Tenant)), r)
	r = intent(newTenant(), now())
	r.Detail = strings.Repeat("x", 350<<10)
	wantErr(t, s.Intent(t.Context(), r), p.tooLarge)
	wantErr(t, s.Final(t.Context(), r), p.tooLarge)
	wantRecords(t, read(t, s, lately(r.Tenant)))
}

func unicodeRecord(t *testing.T, _ peer, s store) {
	r := intent(newTenant(), now())
	r.Agent, r.Tool, r.Run = "Zoë 🦊 #1", "поиск.документов", "запуск/№ 7"
	r.Reasons = []string{"日本語", "e\u0301", "\u2028"}
	must(t, s.Intent(t.Context(), r))
	f := lately(r.Tenant)
	f.Agent, f.Tool = r.Agent, r.Tool
	wantRecords(t, read(t, s, f), r)
	f = lately(r.Tenant)
	f.Run = r.Run
	wantRecords(t, read(t, s, f), r)
}

func intentRace(t *testing.T, p peer, s store) {
	r := intent(newTenant(), now())
	winners := race(t, racers, p.exists, func(i int) error {
		mine := r
		mine.Detail = fmt.Sprint(i)
		return s.Intent(t.Context(), mine)
	})
	if winners != 1 {
		t.Errorf("got %d winners, want 1", winners)
	}
}

func finalRace(t *testing.T, p peer, s store) {
	r := intent(newTenant(), now())
	must(t, s.Intent(t.Context(), r))
	var mu sync.Mutex
	var won audit.Record
	winners := race(t, racers, p.alreadyFinal, func(i int) error {
		mine := final(r)
		mine.Detail = fmt.Sprint(i)
		err := s.Final(t.Context(), mine)
		if err == nil {
			mu.Lock()
			won = mine
			mu.Unlock()
		}
		return err
	})
	if winners != 1 {
		t.Errorf("got %d winners, want 1", winners)
	}
	wantRecords(t, read(t, s, lately(r.Tenant)), won)
}

func manyWriters(t *testing.T, _ peer, s store) {
	const writers, each = 8, 25
	tenant := newTenant()
	race(t, writers, nil, func(i int) error {
		for n := range each {
			r := intent(tenant, now())
			r.Detail = fmt.Sprint(i, n)
			if err := s.Intent(t.Context(), r); err != nil {
				return err
			}
			if err := s.Final(t.Context(), final(r)); err != nil {
				return err
			}
		}
		return nil
	})
	seen := map[string]bool{}
	for _, r := range read(t, s, lately(tenant)) {
		if r.State == audit.StateFinal {
			seen[r.Detail] = true
		}
	}
	if len(seen) != writers*each {
		t.Errorf("got %d records, want %d", len(seen), writers*each)
	}
}
