package turn_test

import (
	"strings"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/turn"
)

func TestWhatATurnAllows(t *testing.T) {
	for name, tt := range map[string]struct {
		mode         turn.Mode
		server, tool string
		digest       string
		effect       call.Effect
		want         call.Reason
	}{
		"a write of build":                     {turn.Build, "docs", "save", "d-save", call.EffectWrite, ""},
		"a read of build":                      {turn.Build, "docs", "search", "d-search", call.EffectRead, ""},
		"a read of ask":                        {turn.Ask, "docs", "search", "d-search", call.EffectRead, ""},
		"a write of ask":                       {turn.Ask, "docs", "save", "d-save", call.EffectWrite, call.TurnMode},
		"what nobody classified is a write":    {turn.Ask, "docs", "save", "d-save", call.EffectUnclassified, call.TurnMode},
		"nor is another word a read":           {turn.Ask, "docs", "save", "d-save", "READ", call.TurnMode},
		"a write of no mode":                   {"", "docs", "save", "d-save", call.EffectWrite, call.TurnMode},
		"a read of no mode":                    {"", "docs", "search", "d-search", call.EffectRead, call.TurnMode},
		"a read of another mode":               {"BUILD", "docs", "search", "d-search", call.EffectRead, call.TurnMode},
		"a tool that is not offered":           {turn.Build, "docs", "delete", "d-delete", call.EffectRead, call.TurnNotOffered},
		"a tool of another server":             {turn.Build, "mail", "save", "d-save", call.EffectWrite, call.TurnNotOffered},
		"a tool in another case":               {turn.Build, "docs", "Save", "d-save", call.EffectWrite, call.TurnNotOffered},
		"a server in another case":             {turn.Build, "Docs", "save", "d-save", call.EffectWrite, call.TurnNotOffered},
		"what is no tool":                      {turn.Build, "docs", "", "", call.EffectRead, call.TurnNotOffered},
		"a write whose tool changed":           {turn.Build, "docs", "save", "d-other", call.EffectWrite, call.TurnChanged},
		"a write whose digest nobody knows":    {turn.Build, "docs", "save", "", call.EffectWrite, call.TurnChanged},
		"a read whose tool changed":            {turn.Build, "docs", "search", "d-other", call.EffectRead, call.TurnChanged},
		"a read whose digest nobody knows":     {turn.Build, "docs", "search", "", call.EffectRead, call.TurnChanged},
		"a read offered without a digest":      {turn.Ask, "mail", "list", "d-any", call.EffectRead, ""},
		"a read without either digest":         {turn.Ask, "mail", "list", "", call.EffectRead, ""},
		"a write offered without a digest":     {turn.Build, "mail", "list", "d-any", call.EffectWrite, call.TurnChanged},
		"a write without either digest":        {turn.Build, "mail", "list", "", call.EffectWrite, call.TurnChanged},
		"a changed write of ask says the tool": {turn.Ask, "docs", "save", "d-other", call.EffectWrite, call.TurnChanged},
	} {
		of := opened(t, &memory{}, wanted())
		of.Mode = tt.mode
		a := turn.Asked{Key: of.Key(), Server: tt.server, Tool: tt.tool, Digest: tt.digest, Effect: tt.effect, Now: at}
		wantReason(t, name, of.Judge(of.ID, a), tt.want)
	}
}

func TestAnOfferOfNoToolOffersNothing(t *testing.T) {
	of := opened(t, &memory{}, wanted())
	of.Offers = append(of.Offers, turn.Offer{Server: "docs"})
	a := turn.Asked{Key: of.Key(), Server: "docs", Effect: call.EffectRead, Now: at}
	wantReason(t, "no tool", of.Judge(of.ID, a), call.TurnNotOffered)
}

func TestWhichTurnCanBeUsed(t *testing.T) {
	of, later := opened(t, &memory{}, wanted()), opened(t, &memory{}, wanted())
	foreign := wanted()
	foreign.Subject = "other"
	of.Single = true
	for name, tt := range map[string]struct {
		change func(s *turn.Turn, a *turn.Asked, id *string)
		want   call.Reason
	}{
		"the present one":         {func(*turn.Turn, *turn.Asked, *string) {}, ""},
		"its last moment":         {func(s *turn.Turn, a *turn.Asked, _ *string) { a.Now = s.Expires.Add(-1) }, ""},
		"the moment it expires":   {func(s *turn.Turn, a *turn.Asked, _ *string) { a.Now = s.Expires }, call.TurnExpired},
		"long after":              {func(s *turn.Turn, a *turn.Asked, _ *string) { a.Now = s.Expires.Add(time.Hour) }, call.TurnExpired},
		"one that its caller end": {func(s *turn.Turn, _ *turn.Asked, _ *string) { s.Ended = true }, call.TurnEnded},
		"ended and expired":       {func(s *turn.Turn, a *turn.Asked, _ *string) { s.Ended, a.Now = true, s.Expires }, call.TurnEnded},
		"one that was used":       {func(s *turn.Turn, _ *turn.Asked, _ *string) { s.Used = true }, call.TurnUsed},
		"used, of many calls":     {func(s *turn.Turn, _ *turn.Asked, _ *string) { s.Used, s.Single = true, false }, ""},
		"the run has a later one": {func(s *turn.Turn, _ *turn.Asked, _ *string) { s.ID = later.ID }, call.TurnEnded},
		"the run has none":        {func(s *turn.Turn, _ *turn.Asked, _ *string) { *s = turn.Turn{} }, call.TurnUnknown},
		"another caller's":        {func(_ *turn.Turn, a *turn.Asked, _ *string) { a.Key = foreign.Key() }, call.TurnForeign},
		"nobody's run":            {func(_ *turn.Turn, a *turn.Asked, _ *string) { a.Key = "" }, call.TurnForeign},
		"no id":                   {func(_ *turn.Turn, _ *turn.Asked, id *string) { *id = "" }, call.TurnUnknown},
		"no id of none":           {func(s *turn.Turn, _ *turn.Asked, id *string) { *s, *id = turn.Turn{}, "" }, call.TurnUnknown},
		"a part of its id":        {func(_ *turn.Turn, _ *turn.Asked, id *string) { *id = (*id)[:len(*id)-1] }, call.TurnUnknown},
		"more than its id":        {func(_ *turn.Turn, _ *turn.Asked, id *string) { *id += "A" }, call.TurnUnknown},
		"its id in another case":  {func(_ *turn.Turn, _ *turn.Asked, id *string) { *id = strings.ToUpper(*id) }, call.TurnUnknown},
		"the key for an id":       {func(s *turn.Turn, _ *turn.Asked, id *string) { *id = string(s.Key()) }, call.TurnUnknown},
	} {
		s, id := of, of.ID
		a := save(of)
		tt.change(&s, &a, &id)
		wantReason(t, name, s.Judge(id, a), tt.want)
	}
}

func TestARefusalOfAForeignTurnTellsNothingOfIt(t *testing.T) {
	of := opened(t, &memory{}, wanted())
	a := save(of)
	a.Key = turn.KeyOf("acme", "user", "other", "run-1")
	if got := of.Judge(of.ID, a).Error(); got != "turn_foreign" {
		t.Errorf("got %q", got)
	}
}
