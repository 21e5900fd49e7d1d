package relay

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
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
	kept map[gateKey]*kept
}

// kept is a catalog and what follows from it, worked out once. A catalog that
// was never acquired is kept too, so that the store is not asked for it again.
type kept struct {
	catalog catalog.Catalog
	server  *registry.Server // the registration that it was compared with
	origin  string           // of that registration
	moved   bool             // the catalog is of another place than that registration names
	params  map[string][]wire.Param
	until   time.Time
	failed  error // of the store, where nothing is known for it
	// unstored says that the store has not got the catalog.
	unstored bool

	mu     sync.Mutex
	tenant *registry.Tenant // whose rules say what is shown
	shown  map[shownKey][]Shown
	memo   map[shownKey]any // see [View.Memo]
}

// current reports whether the catalog speaks of the registration that holds
// now; one that does not still says what was pinned.
func (k *kept) current() bool { return k.catalog.Origin == k.origin && !k.catalog.Acquired.IsZero() }

// described is what is known of a tool for a call.
type described struct {
	known  bool
	params []wire.Param
}

// tool looks a tool up. A tool that the catalog does not name is known too: the
// server has said that it takes no headers for it. One that was left out is
// not, so that a modern server's is refused; a legacy server's is not asked for.
func (k *kept) tool(name string, now time.Time) described {
	return described{known: k.describes(now) && k.unusable(name) == nil, params: k.params[name]}
}

// describes reports whether the catalog's descriptions may be used for calls.
func (k *kept) describes(now time.Time) bool {
	return k.current() && now.Before(k.catalog.Acquired.Add(catalog.Lifetime))
}

// unusable is the refusal of a tool that was left out of the catalog.
func (k *kept) unusable(name string) *call.Refusal {
	if skip, ok := k.catalog.Skipped(name); ok {
		return call.Refuse(call.ToolUnusable, "tool %.128q: %s", name, skip.Reason)
	}
	return nil
}

// newKept reads what the descriptions say of headers.
func newKept(p plan, c catalog.Catalog, until time.Time) *kept {
	k := &kept{catalog: c, server: p.server, origin: origin(p), moved: c.Place != place(p), until: until}
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

// get gives what this process keeps of a server's catalog, unless it is time
// to ask the store again.
func (s *shelf) get(p plan, now time.Time) (*kept, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.kept[gateKey{p.tenant.ID, p.server.Name}]
	return k, ok && now.Before(k.until) && k.server == p.server
}

// put keeps a catalog. What follows from one that is there already is kept.
func (s *shelf) put(p plan, c catalog.Catalog, now time.Time) *kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := gateKey{p.tenant.ID, p.server.Name}
	if k, ok := s.kept[key]; ok && k.server == p.server && k.says(c) {
		k.until = now.Add(shelfAge)
		return k
	}
	k := newKept(p, c, now.Add(shelfAge))
	k.unstored = c.Version == 0 && !c.Acquired.IsZero()
	if s.kept == nil || len(s.kept) >= maxShelf {
		s.kept = make(map[gateKey]*kept)
	}
	s.kept[key] = k
	return k
}

// says reports whether k is of the same reading as c.
func (k *kept) says(c catalog.Catalog) bool {
	return k.catalog.Version == c.Version && k.catalog.Acquired.Equal(c.Acquired) && k.catalog.Listed.Equal(c.Listed)
}

// drop forgets a server's catalog, so that the store is asked.
func (s *shelf) drop(tenant, server string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, gateKey{tenant, server})
}

// known gives what is kept of the server's catalog, here or in the store. A
// store that fails is one that holds what this process saw last; where that is
// nothing, what is given says so, and lists nothing.
func (r *Relay) known(ctx context.Context, p plan) *kept {
	now := r.Now()
	k, fresh := r.shelf.get(p, now)
	if fresh {
		return k
	}
	c, err := r.Catalogs.Catalog(ctx, p.tenant.ID, p.server.Name)
	if err == nil && c.Place != place(p) { // what was pinned elsewhere says nothing of this place
		c = catalog.Catalog{Version: c.Version}
	}
	switch {
	case err == nil && c.Acquired.IsZero() && k != nil && k.server == p.server && k.unstored:
		c = k.catalog // the store could not take it, and this process goes by it
	case err == nil:
	case k != nil && k.server == p.server && k.failed == nil:
		c = k.catalog
	default:
		k = newKept(p, catalog.Catalog{}, now)
		k.failed = err
		return k
	}
	return r.shelf.put(p, c, now)
}

// place names where a server's tools come from: pins hold as long as it does.
func place(p plan) string {
	if p.server.Process != nil {
		return hashed(p.server.Process.Command, strings.Join(p.server.Process.Args, "\x00"))
	}
	return hashed(p.server.Endpoint.String())
}

// origin names what a catalog depends on beside the server's own will: where it
// was read, with whose credential, and what was made of it.
func origin(p plan) string {
	parts := append([]string{place(p), p.server.UnexpectedTools, strconv.FormatInt(p.server.Limits.MaxDescriptorBytes, 10)}, p.server.References()...)
	return hashed(append(append(parts, ""), p.server.AllowedTools...)...)
}

func hashed(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}
