package relay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
)

const (
	// FreshFor is how long the lists of a server are shown without asking the
	// server again.
	FreshFor = 5 * time.Minute
	// failedFor is how long a server that could not be listed is left alone.
	failedFor = 30 * time.Second
)

// finding is what one acquisition read of a server.
type finding struct {
	at           time.Time
	offers       call.Offers
	instructions string
	tools        []catalog.Tool
	items        map[call.List][]catalog.Item // of the other lists that were read
	skips        []catalog.Skip
	failed       map[call.List]call.Reason
	whole        bool // every list was asked for
}

// maxSkips bounds what is kept of a list's unusable descriptors: with their texts
// cut, a store has room for them beside the others.
const maxSkips = 64

// note adds a list that was read.
func (f *finding) note(list call.List, a Answer) {
	if f.offers |= a.Facts.Offers; f.instructions == "" {
		f.instructions = a.Facts.Instructions
	}
	for _, skip := range a.Skips[:min(len(a.Skips), maxSkips)] {
		skip.List, skip.Name, skip.Reason = list, begin(skip.Name), begin(skip.Reason)
		f.skips = append(f.skips, skip)
	}
	if list == call.ListTools {
		f.tools = a.Tools
		return
	}
	f.items[list] = a.Items
}

// study is an acquisition of the tools for the sake of a call: a call of its
// own in the trail, in the same caller's session.
func (r *Relay) study(ctx context.Context, p plan) (*kept, *call.Refusal) {
	f := finding{at: r.Now()}
	answer, refusal := r.read(ctx, p, call.ListTools, true)
	if refusal != nil {
		refusal.Impact = call.ImpactNone // of the call that waits
		return nil, refusal
	}
	f.note(call.ListTools, answer)
	return r.file(ctx, p, f)
}

// survey reads every list that the server says it has. Without its tools it
// has failed; another list that fails keeps what was known of it. What it found
// the server to say of itself comes back either way.
func (r *Relay) survey(ctx context.Context, p plan) (finding, *call.Refusal) {
	f := finding{at: r.Now(), items: map[call.List][]catalog.Item{}, failed: map[call.List]call.Reason{}, whole: true}
	for _, list := range []call.List{call.ListTools, call.ListResources, call.ListTemplates, call.ListPrompts} {
		if f.offers.Lacks(list) {
			f.items[list] = nil
			continue
		}
		answer, refusal := r.read(ctx, p, list, false)
		switch {
		case refusal == nil:
			f.note(list, answer)
		case list == call.ListTools:
			f.offers, f.instructions = answer.Facts.Offers, answer.Facts.Instructions
			return f, refusal
		default:
			f.failed[list] = refusal.Reason
		}
	}
	_, refusal := r.file(ctx, p, f)
	return f, refusal
}

// read is one acquisition: a call of its own in the trail.
func (r *Relay) read(ctx context.Context, p plan, list call.List, within bool) (Answer, *call.Refusal) {
	now := r.Now()
	c := call.Call{
		ID: r.NewID(now), At: now, Face: call.FaceInternal, List: list, Server: p.server.Name,
		Principal: p.call.Principal, Run: p.call.Run, Traceparent: p.call.Traceparent,
	}
	answer, refusal := r.acquire(ctx, errand{call: c, within: within})
	answer.Settle()
	return answer, refusal
}

// file keeps what was just read, here, and in the store unless that has the
// same and it is fresh. A list that was asked for before the stored one is not
// newer. A panic becomes a refusal: most of this runs in the background. So does
// a store that cannot be read, since an unknown pin holds nothing back.
func (r *Relay) file(ctx context.Context, p plan, f finding) (k *kept, refusal *call.Refusal) {
	defer func() {
		if value := recover(); value != nil {
			k, refusal = nil, call.Refuse(call.Internal, "a panic of type %T", value)
		}
	}()
	now := r.Now()
	bounded, cancel := detached(ctx)
	defer cancel()
	before, err := r.Catalogs.Catalog(bounded, p.tenant.ID, p.server.Name)
	if err != nil || before.Acquired.IsZero() { // what this process knows may still say what was pinned
		last := r.known(bounded, p)
		if err != nil && last.failed != nil {
			return nil, unreadable(err)
		}
		version := before.Version
		before = last.catalog
		before.Version = version
	}
	c := merged(p, before, f)
	switch {
	case err != nil:
	case before.Origin == c.Origin && before.Acquired.After(f.at):
		c = before
	case !same(before, c) || f.at.After(before.Acquired.Add(catalog.Lifetime/2)) || f.whole && !f.at.Before(fresh(before)):
		c = r.store(bounded, p, c, before)
	}
	return r.shelf.put(p, c, now), nil
}

// store replaces the stored catalog. Where another process was first its catalog
// holds. A store that fails is told of in the log, since nobody else knows the
// pins then; this process goes by what it read.
func (r *Relay) store(ctx context.Context, p plan, c, before catalog.Catalog) catalog.Catalog {
	c.Version = before.Version
	stored, err := r.Catalogs.PutCatalog(ctx, p.tenant.ID, p.server.Name, c)
	switch {
	case err == nil:
		return stored
	case errors.Is(err, catalog.ErrConflict):
		if winner, err := r.Catalogs.Catalog(ctx, p.tenant.ID, p.server.Name); err == nil && winner.Origin == c.Origin {
			return winner
		}
	}
	r.complain(ctx, "", call.PolicyUnavailable, fmt.Errorf("the catalog of %s could not be stored: %w", p.server.Name, err), plainly)
	c.Version = 0
	return c
}

// merged is what is known of a server after an acquisition: what was read, what
// was known of lists that were not, and the pins.
func merged(p plan, before catalog.Catalog, f finding) catalog.Catalog {
	c := catalog.Catalog{
		Origin: origin(p), Place: place(p), Offers: f.offers, Instructions: f.instructions,
		Tools: slices.Clone(f.tools), Skips: f.skips, Acquired: f.at, Version: before.Version,
	}
	known := before
	if before.Origin != c.Origin {
		known = catalog.Catalog{}
	}
	if c.Listed, c.Failed = known.Listed, known.Failed; f.whole {
		c.Listed, c.Failed = f.at, f.failed
	}
	c.Resources = f.list(call.ListResources, known.Resources)
	c.Templates = f.list(call.ListTemplates, known.Templates)
	c.Prompts = f.list(call.ListPrompts, known.Prompts)
	for _, skip := range known.Skips {
		if _, read := f.items[skip.List]; !read && skip.List != call.ListTools {
			c.Skips = append(c.Skips, skip)
		}
	}
	slices.SortStableFunc(c.Tools, func(a, b catalog.Tool) int { return cmp.Compare(a.Name, b.Name) })
	return c.Pinned(p.server.AllowedTools != nil, before)
}

// fresh is until when the lists of a catalog need not be asked for again.
func fresh(c catalog.Catalog) time.Time {
	if len(c.Failed) > 0 {
		return c.Listed.Add(failedFor)
	}
	return c.Listed.Add(FreshFor)
}

// list is a list in the order of its names: what was read, else what was known.
func (f finding) list(list call.List, known []catalog.Item) []catalog.Item {
	items, read := f.items[list]
	if !read {
		return known
	}
	return slices.SortedStableFunc(slices.Values(items), func(a, b catalog.Item) int { return cmp.Compare(a.Name, b.Name) })
}

// same reports whether two catalogs say the same.
func same(a, b catalog.Catalog) bool {
	if a.Origin != b.Origin || a.Offers != b.Offers || a.Instructions != b.Instructions || !slices.Equal(a.Skips, b.Skips) || !maps.Equal(a.Pins, b.Pins) || !maps.Equal(a.Failed, b.Failed) {
		return false
	}
	items := func(x, y catalog.Item) bool { return x.Name == y.Name && bytes.Equal(x.Raw, y.Raw) }
	return slices.EqualFunc(a.Tools, b.Tools, func(x, y catalog.Tool) bool { return x.Name == y.Name && bytes.Equal(x.Raw, y.Raw) }) &&
		slices.EqualFunc(a.Resources, b.Resources, items) && slices.EqualFunc(a.Templates, b.Templates, items) && slices.EqualFunc(a.Prompts, b.Prompts, items)
}
