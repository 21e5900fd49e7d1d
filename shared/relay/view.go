package relay

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
	"mcprelay/shared/policy"
	"mcprelay/shared/registry"
	"mcprelay/shared/wire"
)

// FirstWait is how long a list of several servers waits for those of which
// nothing is kept, all together, and once for each.
const FirstWait = 3 * time.Second

// View is what one caller is shown of one server.
type View struct {
	Server      string
	Description string
	Process     bool            // the server is a child process
	Catalog     catalog.Catalog // the last one that was good; the zero Catalog for none
	Fresh       time.Time       // until when its lists need not be asked for again
	// Failure is why the server could not be read the last time, nil where it
	// could; Failures the same of single lists.
	Failure  *call.Refusal
	Failures map[call.List]*call.Refusal

	tenant *registry.Tenant
	server *registry.Server
	kept   *kept
	caller policy.Caller
}

// Shown is one item of a list as agents are shown it.
type Shown struct {
	Name     string // that it is offered under
	Upstream string // the upstream's own: a name, a URI or a template
	Raw      json.RawMessage
}

// Known reports whether there is a list to show.
func (v View) Known() bool { return v.kept != nil && v.kept.current() && !v.Catalog.Listed.IsZero() }

// View gives what c's caller is shown of one server, which it reads where
// nothing is kept. The refusal says why there is nothing to show; it has been
// recorded.
func (r *Relay) View(ctx context.Context, c call.Call) (View, *call.Refusal) {
	v, refusal := r.Read(ctx, c)
	if refusal != nil {
		return v, r.Refuse(ctx, c, refusal)
	}
	r.showed(ctx, c, 1)
	return v, nil
}

// Read is View without a record, for a request that has one of its own.
func (r *Relay) Read(ctx context.Context, c call.Call) (View, *call.Refusal) {
	v, refusal := r.Look(ctx, c, 0)
	if refusal == nil && !v.Known() {
		refusal = v.Failure
	}
	return v, refusal
}

// Look is Read for who can do with nothing. Where nothing is kept of the server
// it waits for at most a limit, 0 for as long as a survey takes; then the view is
// one that is not Known and whose Failure says why. The refusal is the policy's.
func (r *Relay) Look(ctx context.Context, c call.Call, limit time.Duration) (View, *call.Refusal) {
	var t trail
	p, refusal := r.policy(ctx, errand{call: toSee(c, c.Server)}, &t)
	if refusal != nil {
		return View{}, r.refusal(ctx, t, p, refusal)
	}
	v := r.see(ctx, p)
	if done := r.due(ctx, v, p); done != nil && !v.Known() {
		await(ctx, orElse(limit, surveyTime(p)), []<-chan struct{}{done})
		v = r.see(ctx, p)
	}
	if !v.Known() {
		if v.Failure == nil {
			v.Failure = call.Refuse(call.ListFailed, "the lists were not read in time")
		}
		v.Failure = r.refusal(ctx, t, p, v.Failure)
	}
	return v, nil
}

// Views gives what c's caller is shown of every server that it may reach, in
// the order of their names. A server that is slow or down is there with its
// last good lists, or none, and says why; it delays the others by at most
// [FirstWait], and only while nothing of it is kept. The refusal has been
// recorded.
func (r *Relay) Views(ctx context.Context, c call.Call) ([]View, *call.Refusal) {
	views, refusal := r.views(ctx, c)
	if refusal != nil {
		return nil, r.Refuse(ctx, c, refusal)
	}
	r.showed(ctx, c, len(views))
	return views, nil
}

// views is Views without a line or a record.
func (r *Relay) views(ctx context.Context, c call.Call) ([]View, *call.Refusal) {
	plans, refusal := r.reachable(ctx, c)
	if refusal != nil {
		return nil, refusal
	}
	views := make([]View, len(plans))
	var first []<-chan struct{}
	var limit time.Duration
	for i, p := range plans {
		views[i] = r.see(ctx, p)
		done := r.due(ctx, views[i], p)
		if done == nil || views[i].Known() {
			continue
		}
		if wait := r.surveys.first(p); wait > 0 {
			first, limit = append(first, done), max(limit, wait)
		}
	}
	if await(ctx, limit, first); len(first) > 0 {
		for i, p := range plans {
			views[i] = r.see(ctx, p)
		}
	}
	return views, nil
}

// Peek is the view of one server without reading anything of it; the zero View,
// which shows nothing, where c's caller may not know of it.
func (r *Relay) Peek(ctx context.Context, c call.Call) View {
	var t trail
	p, refusal := r.policy(ctx, errand{call: toSee(c, c.Server)}, &t)
	if refusal != nil {
		return View{}
	}
	return r.see(ctx, p)
}

// toSee is what the policy is asked of a server before its lists are shown to
// c's caller.
func toSee(c call.Call, server string) call.Call {
	return call.Call{Principal: c.Principal, Run: c.Run, Traceparent: c.Traceparent, Server: server, Operation: call.OperationDiscover}
}

// reachable are the servers of a tenant that the rules let the relay reach for
// c's caller.
func (r *Relay) reachable(ctx context.Context, c call.Call) ([]plan, *call.Refusal) {
	tenant, err := r.Registry.Tenant(ctx, c.Principal.Tenant)
	if err != nil {
		return nil, &call.Refusal{Reason: call.PolicyUnavailable, Detail: "the registration could not be read", Err: err}
	}
	caller := narrowing(tenant, c)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(tenant.Servers)), func(name string) bool { return caller.Scoped(name) != nil })
	plans := make([]plan, 0, len(names))
	for _, name := range names[:min(len(names), tenant.Settings.MaxServers)] {
		var t trail
		if p, refusal := r.policy(ctx, errand{call: toSee(c, name)}, &t); refusal == nil {
			plans = append(plans, p)
		}
	}
	return plans, nil
}

// see is the view of a server as it is now.
func (r *Relay) see(ctx context.Context, p plan) View {
	k, last := r.known(ctx, p), r.surveys.last(p)
	v := View{
		Server: p.server.Name, Description: p.server.Description, Process: p.server.Process != nil,
		Failure: last.refusal, tenant: p.tenant, server: p.server, kept: k, caller: narrowing(p.tenant, p.call),
	}
	if !k.current() {
		v.Catalog.Offers, v.Catalog.Instructions = last.found.offers, last.found.instructions
		return v
	}
	v.Catalog, v.Fresh = k.catalog, fresh(k.catalog)
	for list, reason := range k.catalog.Failed {
		if v.Failures == nil {
			v.Failures = make(map[call.List]*call.Refusal)
		}
		v.Failures[list] = call.Refuse(reason, "when the server was last read")
	}
	return v
}

// due begins to read a server whose lists are not fresh, see surveyed.
func (r *Relay) due(ctx context.Context, v View, p plan) <-chan struct{} {
	if v.Known() && r.Now().Before(v.Fresh) {
		return nil
	}
	return r.surveyed(ctx, p)
}

// showed leaves a line about lists that were shown: no server was asked, so
// there is no record.
func (r *Relay) showed(ctx context.Context, c call.Call, servers int) {
	r.Log.LogAttrs(ctx, slog.LevelInfo, "listed",
		slog.String("call_id", c.ID), slog.String("tenant", c.Principal.Tenant), slog.String("agent", c.Principal.Subject),
		slog.String("operation", string(c.Operation)), slog.String("server", c.Server), slog.Int("servers", servers))
}

// Tools are the tools that the rules offer and no pin holds back, under their
// offered names and in the order of these.
func (v View) Tools() []Shown { return v.list(call.ListTools) }

// Resources are the resources that the rules offer, in the order of their URIs.
func (v View) Resources() []Shown { return v.list(call.ListResources) }

// Templates are the resource templates that the rules offer, in their order.
func (v View) Templates() []Shown { return v.list(call.ListTemplates) }

// Prompts are the prompts that the rules offer, in the order of their names.
func (v View) Prompts() []Shown { return v.list(call.ListPrompts) }

// List is what is shown of one list.
func (v View) List(list call.List) []Shown { return v.list(list) }

// list works out what is shown of a list, once for a catalog and a snapshot of
// the registration. The result must not be changed.
func (v View) list(list call.List) []Shown {
	if v.kept == nil || !v.kept.current() {
		return nil
	}
	k := v.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tenant != v.tenant {
		k.tenant, k.shown, k.memo = v.tenant, make(map[shownKey][]Shown, 4), make(map[shownKey]any, 4)
	}
	key := shownKey{list, v.caller.Access}
	shown, ok := k.shown[key]
	if !ok {
		shown = v.offered(list)
		k.shown[key] = shown
	}
	return shown
}

// shownKey is what a shown list depends on beside the catalog and the
// registration.
type shownKey struct {
	list   call.List
	access policy.Access
}

// Memo gives what another package made of a list of v, and keeps it for as long
// as the catalog and the snapshot of the registration that the list is of.
func (v View) Memo(list call.List, from func([]Shown) any) any {
	shown := v.list(list)
	if len(shown) == 0 {
		return from(nil)
	}
	k := v.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	key := shownKey{list, v.caller.Access}
	if made, ok := k.memo[key]; ok && k.tenant == v.tenant {
		return made
	}
	made := from(shown)
	if k.tenant == v.tenant {
		k.memo[key] = made
	}
	return made
}

func (v View) offered(list call.List) []Shown {
	if list == call.ListTools {
		return v.tools()
	}
	var shown []Shown
	for _, item := range v.Catalog.Items(list) {
		if policy.Offers(v.tenant.Rules, itemTarget(v.tenant, v.server, list, item.Name)) {
			shown = append(shown, Shown{Name: item.Name, Upstream: item.Name, Raw: item.Raw})
		}
	}
	return shown
}

// offersTool reports whether the rules and the caller's access offer a tool.
func (v View) offersTool(name string) bool {
	return offers(v.tenant, v.server, name) && v.caller.Offered(target(v.tenant, v.server, name))
}

func (v View) tools() []Shown {
	var shown []Shown
	for _, tool := range v.Catalog.Tools {
		if !v.offersTool(tool.Name) || heldBack(v.server, v.Catalog, tool.Name) != nil {
			continue
		}
		name := v.server.Offered(tool.Name)
		if descriptor, err := tool.Renamed(name); err == nil {
			shown = append(shown, Shown{Name: name, Upstream: tool.Name, Raw: descriptor})
		}
	}
	slices.SortFunc(shown, func(a, b Shown) int { return cmp.Compare(a.Name, b.Name) })
	return shown
}

// Headers says which arguments of c's tool, by its offered name, a modern agent
// repeats in headers; nil for none, and where nothing is kept of the tool.
func (r *Relay) Headers(ctx context.Context, c call.Call) []wire.Param {
	var t trail
	p, refusal := r.policy(ctx, errand{call: c}, &t)
	if refusal != nil {
		return nil
	}
	if k := r.known(ctx, p); k.describes(r.Now()) {
		return k.params[p.tool]
	}
	return nil
}
