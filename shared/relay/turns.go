package relay

import (
	"context"
	"fmt"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/turn"
)

// Authority is what a runtime asks a turn to allow (FEATURES 49).
type Authority struct {
	Mode turn.Mode
	// Tools are those of the turn, by their offered names; nil for all that the
	// caller is shown. Digests are not asked for: the turn offers the tools as
	// they are described now.
	Tools    []turn.Offer
	Single   bool
	Lifetime time.Duration // 0 for [turn.DefaultLifetime]
}

// OpenTurn makes a turn the present one of c's run, which ends the one before.
// A tool that the caller is not shown is refused. It leaves a record either way.
func (r *Relay) OpenTurn(ctx context.Context, c call.Call, a Authority) (turn.Turn, *call.Refusal) {
	c.Operation = call.OperationTurn
	t, refusal := r.openTurn(ctx, c, a)
	if refusal != nil {
		return turn.Turn{}, r.Refuse(ctx, c, refusal)
	}
	c.Turn = t.ID
	r.done(ctx, c, fmt.Sprintf("opened in mode %s with %d tools until %s", t.Mode, len(t.Offers), t.Expires.UTC().Format(time.RFC3339)))
	return t, nil
}

func (r *Relay) openTurn(ctx context.Context, c call.Call, a Authority) (turn.Turn, *call.Refusal) {
	now := r.Now()
	if a.Lifetime < 0 || a.Lifetime > turn.MaxLifetime {
		return turn.Turn{}, call.Refuse(call.BadParams, "a lifetime of %d ms, at most %d", a.Lifetime.Milliseconds(), turn.MaxLifetime.Milliseconds())
	}
	offers, refusal := r.turnOffers(ctx, c, a.Tools)
	if refusal != nil {
		return turn.Turn{}, refusal
	}
	return turn.Open(ctx, r.Turns, turn.Turn{
		Tenant: c.Principal.Tenant, Kind: c.Principal.Domain(), Subject: c.Principal.Subject, Run: c.Run,
		Mode: a.Mode, Offers: offers, Single: a.Single, Expires: now.Add(orElse(a.Lifetime, turn.DefaultLifetime)),
	}, now)
}

// turnOffers are the tools that a turn offers, with the digests of what they are
// described as now.
func (r *Relay) turnOffers(ctx context.Context, c call.Call, asked []turn.Offer) ([]turn.Offer, *call.Refusal) {
	views, refusal := r.views(ctx, c)
	if refusal != nil {
		return nil, refusal
	}
	shown := map[turn.Offer]string{}
	var all []turn.Offer
	for _, v := range views {
		for _, tool := range v.Tools() {
			described, _ := v.Catalog.Tool(tool.Upstream)
			offer := turn.Offer{Server: v.Server, Tool: tool.Name}
			shown[offer] = described.Digest
			offer.Digest = described.Digest
			all = append(all, offer)
		}
	}
	if asked == nil {
		return all, nil
	}
	offers := make([]turn.Offer, 0, len(asked))
	for _, offer := range asked {
		offer.Digest = ""
		digest, ok := shown[offer]
		if !ok {
			return nil, call.Refuse(call.TurnNotOffered, "%.64q of %.64q is not shown to the caller now", offer.Tool, offer.Server)
		}
		offer.Digest = digest
		offers = append(offers, offer)
	}
	return offers, nil
}

// EndTurn ends a turn of c's caller by its id. It leaves a record either way.
func (r *Relay) EndTurn(ctx context.Context, c call.Call, id string) *call.Refusal {
	c.Operation, c.Turn = call.OperationTurn, id
	by := turn.Caller{Tenant: c.Principal.Tenant, Kind: c.Principal.Domain(), Subject: c.Principal.Subject}
	if refusal := turn.End(ctx, r.Turns, id, by); refusal != nil {
		return r.Refuse(ctx, c, refusal)
	}
	r.done(ctx, c, "ended")
	return nil
}

// done leaves the record of what the relay did by itself for a caller.
func (r *Relay) done(ctx context.Context, c call.Call, detail string) {
	record := audit.Begin(c)
	record.Detail = detail
	record.Answer(call.OK)
	record.Finish(r.Now())
	r.write(ctx, record)
}
