package relay

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
	"mcprelay/shared/egress"
	"mcprelay/shared/exchange"
	"mcprelay/shared/registry"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// egress: where exactly?
func (r *Relay) egress(ctx context.Context, p plan, c credential) (egress.Route, *call.Refusal) {
	route, err := r.Guard.Resolve(ctx, p.server.Endpoint, p.rules(c))
	if err != nil {
		return egress.Route{}, asRefusal(err)
	}
	return route, nil
}

// exchange: one POST. A credential that the upstream rejected is read once
// more, and only a newer version is tried: a 401 proves the first did not run.
func (r *Relay) exchange(ctx context.Context, p plan, c credential, route egress.Route, t *trail) (Answer, *call.Refusal) {
	answer, refusal := r.ask(ctx, p, c, route, t)
	rejected := refusal != nil && refusal.Reason == call.UpstreamUnauthorized && refusal.Status == http.StatusUnauthorized
	if !rejected || len(c.uses) == 0 || t.record.Posts > 1 {
		return answer, refusal
	}
	newer, failed := r.bind(ctx, p, t, r.Secrets.Renew)
	if failed != nil || slices.Equal(newer.uses, c.uses) {
		return answer, refusal
	}
	if newer.identity != c.identity {
		if route, failed = r.egress(ctx, p, newer); failed != nil {
			return answer, refusal
		}
	}
	t.record.SecretRenewed, t.record.Again = true, againSecret
	return r.ask(ctx, p, newer, route, t)
}

func (r *Relay) ask(ctx context.Context, p plan, c credential, route egress.Route, t *trail) (Answer, *call.Refusal) {
	request := r.httpRequest(p, c, route)
	request.Notify = p.notify(t)
	request.Mask = func(text string) string { return t.masker.Text(text) }
	if request.Notify != nil {
		request.SessionID = func(id string) { r.hide(t, id) }
	}
	switch p.call.Operation {
	case call.OperationDiscover:
		raw, facts, err := r.Exchange.List(ctx, request)
		r.note(t, facts)
		if err != nil {
			return Answer{Facts: facts}, asRefusal(err)
		}
		return r.listed(p, raw, facts)
	case call.OperationSetLevel:
		reply, err := r.Exchange.SetLevel(ctx, request, p.call.Level)
		r.note(t, reply.Facts)
		if err != nil {
			return Answer{Facts: reply.Facts}, asRefusal(err)
		}
		return r.answered(p, reply)
	case call.OperationClose:
		facts, err := r.Exchange.End(ctx, request, p.session.State)
		r.note(t, facts)
		if err != nil {
			return Answer{Facts: facts}, asRefusal(err)
		}
		return Answer{Facts: facts}, nil
	}
	if p.call.Operation == call.OperationToolsCall {
		return r.callTool(ctx, p, request, t)
	}
	answer, _, refusal := r.tell(ctx, p, request, t)
	return answer, refusal
}

// notify hands on what a server tells of a call that runs; nil where nobody
// wants to know.
func (p plan) notify(t *trail) func(string, json.RawMessage) {
	if p.call.Notify == nil {
		return nil
	}
	return func(method string, params json.RawMessage) {
		masked, n := t.masker.JSON(params)
		t.record.Masked += n
		p.call.Notify(method, masked)
	}
}

// Why a request was put again, beside the exchange's own reasons.
const (
	againHeaders = "headers"
	againSecret  = "secret"
)

// noPause stands for a backoff of 0, which would mean the default.
const noPause = time.Nanosecond

// httpRequest is what the exchange is asked.
func (r *Relay) httpRequest(p plan, c credential, route egress.Route) exchange.Request {
	limits := p.server.Limits
	return exchange.Request{
		Tenant:      p.tenant.ID,
		Server:      p.server.Name,
		Route:       route,
		Authorize:   c.binding.Apply,
		Session:     r.memory.session(p),
		Origin:      p.origin,
		Owner:       owner(p),
		Asked:       r.request(p),
		List:        p.call.List,
		Meta:        p.call.Meta,
		Traceparent: p.call.Traceparent,
		Open:        orElse(limits.StartupTimeout, OpenBudget),
		Close:       limits.CloseTimeout,
		Limits: exchange.Limits{
			ResultBytes:    limits.MaxResultBytes,
			FrameBytes:     limits.MaxFrameBytes,
			Pages:          limits.MaxToolPages,
			Items:          limits.MaxTools,
			ConnectRetries: orElse(limits.ReconnectAttempts, -1),
			Backoff:        orElse(limits.Backoff, noPause),
		},
	}
}

// callTool asks the server to run the tool. A modern server wants some
// arguments in headers too, and only the tool's description says which: where
// nobody knows it, the server is asked for it. None of it is needed for a
// legacy server.
func (r *Relay) callTool(ctx context.Context, p plan, request exchange.Request, t *trail) (Answer, *call.Refusal) {
	began := r.Now()
	k := r.known(ctx, p)
	answer, needs, refusal := r.tell(ctx, p, describe(request, k.tool(p.tool, began)), t)
	if needs {
		if !k.describes(began) {
			if k, refusal = r.learn(ctx, p, began); refusal == nil {
				refusal = r.held(ctx, p) // by what was just read
			}
		}
		if refusal == nil {
			refusal = k.unusable(p.tool)
		}
		if refusal != nil {
			return answer, refusal
		}
		answer, _, refusal = r.tell(ctx, p, describe(request, k.tool(p.tool, began)), t)
	}
	if refusal == nil || refusal.Reason != call.HeadersRefused || t.record.Posts > 1 {
		return answer, refusal
	}
	// The description may have changed since it was read. Nothing ran.
	before := k.params[p.tool]
	k, failed := r.learn(ctx, p, r.Now())
	if failed == nil {
		failed = r.held(ctx, p)
	}
	if failed != nil && failed.Reason == call.ToolHeld {
		return answer, failed
	}
	if failed != nil || k.unusable(p.tool) != nil || slices.EqualFunc(before, k.params[p.tool], sameParam) {
		return answer, refusal
	}
	t.record.Again = againHeaders
	answer, _, refusal = r.tell(ctx, p, describe(request, k.tool(p.tool, r.Now())), t)
	return answer, refusal
}

// describe tells a request what is known of its tool.
func describe(request exchange.Request, d described) exchange.Request {
	request.Described, request.Params = d.known, d.params
	return request
}

func sameParam(a, b wire.Param) bool {
	return a.Header == b.Header && a.Type == b.Type && slices.Equal(a.Path, b.Path)
}

// tell is one try of what the agent asks. It needs the tool's description where
// the server is modern and the request does not have it; nothing was asked of
// the tool then.
func (r *Relay) tell(ctx context.Context, p plan, request exchange.Request, t *trail) (a Answer, needs bool, _ *call.Refusal) {
	request.Once = t.record.Posts > 0 // whatever it was asked again for
	reply, err := r.Exchange.Call(ctx, request)
	r.note(t, reply.Facts)
	switch {
	case errors.Is(err, exchange.ErrUndescribed):
		return Answer{Facts: reply.Facts}, true, nil
	case err != nil:
		return Answer{Facts: reply.Facts}, false, asRefusal(err)
	}
	answer, refusal := r.answered(p, reply)
	return answer, false, refusal
}

// learn reads the server's tools for a call that needs to know one, or waits
// for another call that does; what was read before since is not enough.
func (r *Relay) learn(ctx context.Context, p plan, since time.Time) (*kept, *call.Refusal) {
	for {
		lesson, mine := r.lessons.begin(gateKey{p.tenant.ID, p.server.Name})
		if mine {
			defer r.lessons.end(gateKey{p.tenant.ID, p.server.Name}, lesson)
			return r.study(ctx, p)
		}
		select {
		case <-lesson:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, &call.Refusal{Reason: call.Cancelled, Impact: call.ImpactNone, Err: ctx.Err()}
			}
			return nil, call.Refuse(call.ListFailed, "the tools were not read in time")
		}
		if k := r.known(ctx, p); k.current() && !k.catalog.Acquired.Before(since) {
			return k, nil
		}
	}
}

// listed checks a list that was read against the registration.
func (r *Relay) listed(p plan, raw []json.RawMessage, facts exchange.Facts) (Answer, *call.Refusal) {
	answer := Answer{Facts: facts, list: p.call.List, tenant: p.tenant, server: p.server}
	bounds := catalog.Bounds{Bytes: p.server.Limits.MaxDescriptorBytes, Name: registry.ToolName}
	if p.call.List != call.ListTools {
		answer.Items, answer.Skips = catalog.Items(p.call.List, raw, bounds)
		return answer, nil
	}
	tools, skips := catalog.Tools(raw, bounds)
	hide := p.server.UnexpectedTools == registry.UnexpectedHide
	if hide {
		skips = append(skips, catalog.Unexpected(tools, p.server.AllowedTools)...)
	}
	tools, refusal := catalog.Exact(tools, p.server.AllowedTools, hide)
	answer.Tools, answer.Skips = tools, skips
	return answer, refusal
}

func owner(p plan) session.Owner {
	return session.Owner{
		Tenant: p.tenant.ID, Server: p.server.Name,
		Subject: p.call.Principal.Subject, Kind: p.call.Principal.Domain(), Run: p.call.Run,
	}
}

func sessionKey(p plan) session.Key {
	grant := ""
	for _, ref := range p.refs {
		grant += ref + "\n"
	}
	return session.KeyOf(session.Parts{
		Tenant:    p.tenant.ID,
		Server:    p.server.Name,
		Endpoint:  p.server.Endpoint.String(),
		Grant:     grant,
		Principal: p.call.Principal.Domain() + "\n" + p.call.Principal.Subject,
		Run:       p.call.Run,
	})
}
