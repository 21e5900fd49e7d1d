package relay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
	"mcprelay/shared/registry"
	"mcprelay/shared/wire"
)

const (
	// shelfAge is the longest a catalog is used before the store is asked
	// again, as it is for a registration (DESIGN 7).
	shelfAge = 15 * time.Second
	// maxShelf bounds the catalogs kept in a process.
	maxShelf = 256
)

// shelf keeps catalogs in this process. The zero shelf is ready.
type shelf struct {
	mu   sync.Mutex
	kept map[gateKey]kept
}

// kept is a catalog and what its descriptors say of headers, read once.
type kept struct {
	catalog catalog.Catalog
	server  *registry.Server        // the registration that it was compared with
	params  map[string][]wire.Param // by tool, of those that have any
	until   time.Time
}

// described is what is known of a tool for a call.
type described struct {
	known  bool
	params []wire.Param
}

// tool looks a tool up. A tool that the catalog does not name is known too: the
// server has said that it takes no headers for it. One that was left out is
// not, so that a modern server's is refused; a legacy server's is not asked for.
func (k kept) tool(name string, known bool) described {
	return described{known: known && k.unusable(name) == nil, params: k.params[name]}
}

// unusable is the refusal of a tool that was left out of the catalog.
func (k kept) unusable(name string) *call.Refusal {
	if skip, ok := k.catalog.Skipped(name); ok {
		return call.Refuse(call.ToolUnusable, "tool %.128q: %s", name, skip.Reason)
	}
	return nil
}

// lessons let one call at a time read a server's tools for all that need them.
// The zero lessons is ready.
type lessons struct {
	mu   sync.Mutex
	open map[gateKey]chan struct{}
}

// begin gives the lesson under way, or begins one that is the caller's to end.
func (l *lessons) begin(key gateKey) (lesson chan struct{}, mine bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lesson, ok := l.open[key]; ok {
		return lesson, false
	}
	if l.open == nil {
		l.open = make(map[gateKey]chan struct{})
	}
	lesson = make(chan struct{})
	l.open[key] = lesson
	return lesson, true
}

func (l *lessons) end(key gateKey, lesson chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, key)
	close(lesson)
}

func keep(c catalog.Catalog, server *registry.Server, until time.Time) kept {
	k := kept{catalog: c, server: server, until: until}
	for _, tool := range c.Tools {
		schema, _ := wire.Member(tool.Raw, "inputSchema")
		// An error cannot be: the catalog left such a tool out.
		if params, err := wire.Params(schema); err == nil && len(params) > 0 {
			if k.params == nil {
				k.params = make(map[string][]wire.Param)
			}
			k.params[tool.Name] = params
		}
	}
	return k
}

// get gives what this process keeps of a server's catalog.
func (s *shelf) get(p plan, now time.Time) (kept, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.kept[gateKey{p.tenant.ID, p.server.Name}]
	return k, ok && now.Before(k.until) && (k.server == p.server || k.catalog.Origin == origin(p))
}

func (s *shelf) put(p plan, c catalog.Catalog, now time.Time) kept {
	k := keep(c, p.server, now.Add(shelfAge))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil || len(s.kept) >= maxShelf {
		s.kept = make(map[gateKey]kept)
	}
	s.kept[gateKey{p.tenant.ID, p.server.Name}] = k
	return k
}

// stored gives the server's catalog from the store, where it holds one that
// still speaks of this registration. A store that fails is one that holds
// nothing: listing once too often is better than no answer.
func (r *Relay) stored(ctx context.Context, p plan) (kept, bool) {
	now := r.Now()
	c, err := r.Catalogs.Catalog(ctx, p.tenant.ID, p.server.Name)
	if err != nil || c.Version == 0 || c.Origin != origin(p) || !now.Before(c.Acquired.Add(catalog.Lifetime)) {
		return kept{}, false
	}
	return r.shelf.put(p, c, now), true
}

// file keeps a catalog that was just read, here, and in the store unless that
// has the same. A list that was asked for before the stored one is not newer.
func (r *Relay) file(ctx context.Context, p plan, a Answer) {
	now := r.Now()
	c := catalog.Catalog{Origin: origin(p), Tools: a.Tools, Skips: a.Skips, Acquired: p.call.At}
	if k, ok := r.shelf.get(p, now); ok && same(k.catalog, c) {
		k.catalog.Acquired = now
		r.shelf.put(p, k.catalog, now)
		return
	}
	before, err := r.Catalogs.Catalog(ctx, p.tenant.ID, p.server.Name)
	fresh := before.Origin == c.Origin && before.Acquired.After(c.Acquired)
	if err == nil && !fresh && (!same(before, c) || now.After(before.Acquired.Add(catalog.Lifetime/2))) {
		c.Version = before.Version
		if stored, err := r.Catalogs.PutCatalog(ctx, p.tenant.ID, p.server.Name, c); err == nil {
			c = stored
		}
	}
	c.Acquired = now
	r.shelf.put(p, c, now)
}

// same reports whether two catalogs say the same.
func same(a, b catalog.Catalog) bool {
	return a.Origin == b.Origin && slices.Equal(a.Skips, b.Skips) &&
		slices.EqualFunc(a.Tools, b.Tools, func(x, y catalog.Tool) bool { return x.Name == y.Name && bytes.Equal(x.Raw, y.Raw) })
}

// origin names what a catalog depends on beside the server's own will: where it
// was read, with whose credential, and what was made of it.
func origin(p plan) string {
	sum := sha256.New()
	parts := append([]string{p.server.Endpoint.String(), p.server.UnexpectedTools, strconv.FormatInt(p.server.Limits.MaxDescriptorBytes, 10)}, p.server.References()...)
	for _, part := range append(append(parts, ""), p.server.AllowedTools...) {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	if p.server.Process != nil {
		sum.Write([]byte(p.server.Process.Command + "\x00" + strings.Join(p.server.Process.Args, "\x00")))
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}
