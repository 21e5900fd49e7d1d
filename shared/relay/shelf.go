package relay

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"sync"
	"time"

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
	skip   string // why the tool was left out of the catalog
	params []wire.Param
}

// tool looks a tool up. A tool that the catalog does not name is known too:
// the server has said that it takes no headers for it.
func (k kept) tool(name string) described {
	d := described{known: true, params: k.params[name]}
	if skip, ok := k.catalog.Skipped(name); ok {
		d.skip = skip.Reason
	}
	return d
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

// file keeps a catalog that was just read, here and in the store. Another
// process that was first has as fresh a one.
func (r *Relay) file(ctx context.Context, p plan, a Answer) {
	c := catalog.Catalog{Origin: origin(p), Tools: a.Tools, Skips: a.Skips, Acquired: r.Now()}
	if before, err := r.Catalogs.Catalog(ctx, p.tenant.ID, p.server.Name); err == nil {
		c.Version = before.Version
		if stored, err := r.Catalogs.PutCatalog(ctx, p.tenant.ID, p.server.Name, c); err == nil {
			c = stored
		}
	}
	r.shelf.put(p, c, c.Acquired)
}

// origin names what a list depends on beside the server's own will: where it
// was read, and with whose credential.
func origin(p plan) string {
	sum := sha256.New()
	for _, part := range append([]string{p.server.Endpoint.String()}, p.server.References()...) {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	if p.server.Process != nil {
		sum.Write([]byte(p.server.Process.Command + "\x00" + strings.Join(p.server.Process.Args, "\x00")))
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}
