package tenants_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"mcprelay/shared/call"
	"mcprelay/shared/relay"
	"mcprelay/shared/turn"
)

// step is one thing that a caller asks.
type step struct {
	does   string
	call   call.Call
	guess  bool   // it names what is the other tenant's
	turn   string // own, stolen or empty
	stolen string // the other tenant's turn, as it was when both were there
}

// run is one relay that callers speak to, and the turns that they opened.
type run struct {
	*world
	relay *relay.Relay
	turns map[string]string // the last one of a tenant
}

// other is the tenant that is not t.
func other(t string) string {
	if t == amber {
		return birch
	}
	return amber
}

// step is at random. Now and then it guesses a name of the other tenant.
func (c chance) step(n int) *step {
	s := &step{does: one(c, "call", "call", "call", "call", "read", "prompt", "view", "views", "peek", "unrecorded", "headers", "simulate", "open", "end")}
	named := c
	if s.guess = c.often(15); s.guess {
		named.tenant = other(c.tenant)
	}
	s.call = call.Call{
		ID: fmt.Sprintf("%s-call-%d", c.tenant, n), At: c.pool.now, Face: call.FaceMCP, Operation: call.OperationToolsCall,
		Principal: call.Principal{Tenant: c.tenant, Subject: c.subject(), Kind: one(c, call.KindUser, call.KindServiceToken), Scopes: []call.Scope{call.ScopeCall}},
		Server:    named.server(), Run: one(c, "", "run"), Modern: true,
	}
	if s.turn = one(c, "", "", "own", "stolen"); s.does == "end" {
		s.turn = "own" // who has the whole of another's id is told that it is another's
	}
	switch s.does {
	case "read":
		s.call.Operation, s.call.Resource = call.OperationResourcesRead, one(c, named.tenant+"://a", "file:///a")
	case "prompt":
		s.call.Operation, s.call.Prompt = call.OperationPromptsGet, one(c, named.tenant+"_ask", "ask")
	default:
		s.call.Tool, s.call.Arguments = one(c, named.tool(), named.tenant+"_seen"), json.RawMessage(`{"n":1}`)
		s.call.IdempotencyKey = one(c, "", "", "key")
	}
	return s
}

// saw is everything that the caller is shown of what it asked.
func (r *run) saw(ctx context.Context, s *step) string {
	c := s.call
	switch own := r.turns[c.Principal.Tenant]; s.turn {
	case "own":
		c.Turn = own
	case "stolen":
		if theirs := r.turns[other(c.Principal.Tenant)]; theirs != "" {
			s.stolen = theirs
		}
		c.Turn = s.stolen
	}
	seen := r.ask(ctx, s.does, c)
	if own := r.turns[c.Principal.Tenant]; own != "" {
		seen = strings.ReplaceAll(seen, own, "TURN")
	}
	return s.does + " " + c.ID + ": " + seen
}

func (r *run) ask(ctx context.Context, does string, c call.Call) string {
	switch does {
	case "view":
		v, refusal := r.relay.View(ctx, c)
		return shown(v) + told(refusal)
	case "views":
		views, refusal := r.relay.Views(ctx, c)
		text := told(refusal)
		for _, v := range views {
			text += shown(v)
		}
		return text
	case "peek":
		return shown(r.relay.Peek(ctx, c))
	case "unrecorded":
		v, refusal := r.relay.Read(ctx, c)
		return shown(v) + told(refusal)
	case "headers":
		return fmt.Sprint(r.relay.Headers(ctx, c))
	case "simulate":
		return r.simulate(ctx, c)
	case "open":
		return r.open(ctx, c)
	case "end":
		return told(r.relay.EndTurn(ctx, c, c.Turn))
	}
	answer, refusal := r.relay.Run(ctx, c)
	answer.Settle()
	return fmt.Sprintf("%s %s %s %d %s", answer.CallID, answer.Result, answer.Error, answer.Code, told(refusal))
}

func (r *run) simulate(ctx context.Context, c call.Call) string {
	s, refusal := r.relay.Simulate(ctx, relay.Question{
		CallID: c.ID, By: call.Principal{Tenant: c.Principal.Tenant, Subject: "operator"},
		Subject: c.Principal.Subject, Kind: c.Principal.Kind, Run: c.Run, Server: c.Server, Tool: c.Tool, Arguments: c.Arguments,
	})
	text, err := json.Marshal(s)
	return fmt.Sprintf("%s %v %s", text, err, told(refusal))
}

func (r *run) open(ctx context.Context, c call.Call) string {
	a := relay.Authority{Mode: turn.Build}
	if c.IdempotencyKey != "" { // by chance: one tool instead of all
		a = relay.Authority{Mode: turn.Ask, Single: true, Tools: []turn.Offer{{Server: c.Server, Tool: c.Tool}}}
	}
	c.Turn = ""
	opened, refusal := r.relay.OpenTurn(ctx, c, a)
	if refusal == nil {
		r.turns[c.Principal.Tenant] = opened.ID
	}
	return fmt.Sprintf("%s %s %v %s", opened.ID, opened.Mode, opened.Offers, told(refusal))
}

// shown is everything of a view that a front shows, or could.
func shown(v relay.View) string {
	text := fmt.Sprint(v.Server, v.Description, v.Catalog.Offers, v.Catalog.Instructions, v.Catalog.Skips, v.Fresh, v.Failures) + told(v.Failure)
	for _, list := range []call.List{call.ListTools, call.ListResources, call.ListTemplates, call.ListPrompts} {
		for _, item := range v.List(list) {
			text += " " + item.Name + " " + item.Upstream + " " + string(item.Raw)
		}
	}
	return text
}

// told is a refusal with its explanation, whether the tenant explains it or not.
func told(refusal *call.Refusal) string {
	if refusal == nil {
		return ""
	}
	row := refusal.Shown()
	return fmt.Sprint(refusal.Error(), refusal.MayHaveRun(), refusal.RetryAfter, refusal.Challenge, refusal.Data, row.Reason, row.Sentence, refusal.Explain)
}
