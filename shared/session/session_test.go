package session_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestKeyDiffersWhereOnePartDiffers(t *testing.T) {
	whole := session.Parts{Tenant: "acme", Server: "docs", Endpoint: "https://mcp.example.com/v1", Grant: "docs-access", Principal: "ci", Run: "r1"}
	change := map[string]func(*session.Parts){
		"tenant":    func(p *session.Parts) { p.Tenant = "other" },
		"server":    func(p *session.Parts) { p.Server = "other" },
		"endpoint":  func(p *session.Parts) { p.Endpoint = "https://mcp.example.com/v2" },
		"grant":     func(p *session.Parts) { p.Grant = "other" },
		"principal": func(p *session.Parts) { p.Principal = "other" },
		"run":       func(p *session.Parts) { p.Run = "" },
	}
	seen := map[session.Key]string{session.KeyOf(whole): "whole"}
	for name, f := range change {
		p := whole
		f(&p)
		key := session.KeyOf(p)
		if other, ok := seen[key]; ok {
			t.Errorf("changing %s gives the key of %s", name, other)
		}
		seen[key] = name
	}
	if again := whole; session.KeyOf(whole) != session.KeyOf(again) {
		t.Error("the same parts give two keys")
	}
}

func TestKeyKeepsPartsApart(t *testing.T) {
	moved := []session.Parts{
		{Tenant: "a", Server: "bc"}, {Tenant: "ab", Server: "c"}, {Tenant: "abc"}, {Server: "abc"},
		{Tenant: "a\x00b", Server: "c"}, {Tenant: "a", Server: "b\x00c"},
		{Principal: "x"}, {Run: "x"}, {Grant: "x"}, {Endpoint: "x"}, {},
	}
	seen := map[session.Key]int{}
	for i, p := range moved {
		if j, ok := seen[session.KeyOf(p)]; ok {
			t.Errorf("%+v and %+v share a key", moved[j], p)
		}
		seen[session.KeyOf(p)] = i
	}
}

func TestVerdictAndSessionNeverShareAKey(t *testing.T) {
	origin := session.OriginKey("acme", "docs", "https://mcp.example.com/v1")
	if origin == session.KeyOf(session.Parts{Tenant: "acme", Server: "docs", Endpoint: "https://mcp.example.com/v1"}) {
		t.Error("a verdict has the key of a session")
	}
	if origin == session.OriginKey("other", "docs", "https://mcp.example.com/v1") {
		t.Error("two tenants share a verdict")
	}
}

func TestKeyShowsNothingOfItsParts(t *testing.T) {
	key := string(session.KeyOf(session.Parts{Tenant: "acme", Principal: "someone@example.com"}))
	if strings.Contains(key, "acme") || strings.Contains(key, "someone") {
		t.Errorf("key %s shows its parts", key)
	}
	if !strings.HasPrefix(key, "S#") || len(key) != 45 {
		t.Errorf("key %q, want S# and 43 characters", key)
	}
}

func TestStateIsLiveUntilItExpires(t *testing.T) {
	live := session.State{Era: session.Legacy, Expires: noon}
	for name, tc := range map[string]struct {
		state session.State
		at    time.Time
		want  bool
	}{
		"before":  {live, noon.Add(-time.Nanosecond), true},
		"at":      {live, noon, false},
		"after":   {live, noon.Add(time.Hour), false},
		"zero":    {session.State{}, noon, false},
		"no era":  {session.State{Expires: noon.Add(time.Hour)}, noon, false},
		"no time": {session.State{Era: session.Modern}, noon, false},
	} {
		if got := tc.state.Live(tc.at); got != tc.want {
			t.Errorf("%s: want live %v, got %v", name, tc.want, got)
		}
	}
}

func TestStateIsTheSameOpeningWhateverItsTimes(t *testing.T) {
	a := session.State{Era: session.Legacy, Version: "2025-11-25", SessionID: "s-1", Ver: 1, Opened: noon}
	b := a
	b.Ver, b.Opened = 9, noon.Add(time.Hour)
	if !a.Is(b) {
		t.Error("times and versions of the store make another session")
	}
	b.SessionID = "s-2"
	if a.Is(b) {
		t.Error("another session id is the same session")
	}
}

func TestStateSurvivesTheStore(t *testing.T) {
	for _, want := range []session.State{
		{},
		{Era: session.Modern, Version: "2026-07-28", Opened: noon, Expires: noon.Add(session.VerdictLifetime), Ver: 3},
		{Era: session.Legacy, Version: "2025-06-18", SessionID: "abc", Opened: noon, Expires: noon.Add(session.Lifetime), Ver: 1},
		{Era: session.Legacy, Version: "2025-11-25", Offers: call.Announced | call.OffersLogging, Instructions: "Ask <first>.\n\té", Expires: noon, Ver: 1},
	} {
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got session.State
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", raw, diff)
		}
	}
	if raw, _ := json.Marshal(session.State{}); string(raw) != "{}" {
		t.Errorf("want {} for the zero state, got %s", raw)
	}
}

func TestSessionIDIsVisibleASCII(t *testing.T) {
	for _, id := range []string{"a", "5f2b9d6e-0d0e-4a35-9c4b-1f7f0a0f4a11", "!~", strings.Repeat("x", session.MaxID)} {
		if err := session.CheckID(id); err != nil {
			t.Errorf("%q: %v", id[:1], err)
		}
	}
	for name, id := range map[string]string{
		"empty": "", "space": "a b", "tab": "a\tb", "CR": "a\rb", "LF": "a\n", "NUL": "\x00",
		"DEL": "a\x7f", "0x80": "a\x80", "UTF-8": "é", "1 KiB and 1": strings.Repeat("x", session.MaxID+1),
	} {
		err := session.CheckID(id)
		if !errors.Is(err, session.ErrID) {
			t.Errorf("%s: want ErrID, got %v", name, err)
		}
		if len(id) > 2 && err != nil && strings.Contains(err.Error(), id) {
			t.Errorf("%s: the error shows the id: %v", name, err)
		}
	}
}
