// Package contract_test is what every store promises, as one list of named
// checks that runs against SQLite, against dynalite and against moto.
//
// It promises that a check is left out only where a peer lacks what it needs,
// that how many ran is written down for each peer, and that too few are a
// failure. It refuses to know how a store does it.
package contract_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcprelay/shared/app"
	"mcprelay/shared/audit"
	"mcprelay/shared/auth"
	"mcprelay/shared/budget"
	"mcprelay/shared/catalog"
	"mcprelay/shared/exchange"
	"mcprelay/shared/idempotency"
	"mcprelay/shared/registry"
	"mcprelay/shared/relay"
	"mcprelay/shared/secret"
	"mcprelay/shared/session"
	"mcprelay/shared/token"
	"mcprelay/shared/turn"
	"mcprelay/test/peers"
)

// store is what both stores are: the interfaces of their consumers, and what
// operators need besides.
type store interface {
	relay.Recorder
	exchange.Sessions
	auth.Tokens
	app.Documents
	app.IssuerTenants
	closing
	catalogs
	idempotency.Store
	turn.Store
	budget.Counters
	operator
	administrator
}

// closing finds the sessions that somebody must close.
type closing interface {
	SessionsOfRun(ctx context.Context, run session.Key) ([]session.Entry, error)
	SessionsExpired(ctx context.Context, before time.Time, limit int) ([]session.Entry, error)
}

type catalogs interface {
	Catalog(ctx context.Context, tenant, server string) (catalog.Catalog, error)
	PutCatalog(ctx context.Context, tenant, server string, c catalog.Catalog) (catalog.Catalog, error)
}

type operator interface {
	Audit(ctx context.Context, f audit.Filter) ([]audit.Record, string, error)
	Secret(ctx context.Context, tenant string, source secret.Source) (secret.Value, error)
}

type administrator interface {
	PutToken(ctx context.Context, r token.Record) error
	PutDocument(ctx context.Context, tenant string, d registry.Document) (int64, error)
}

// need is something that not every peer has.
type need string

const (
	nothing     need = ""
	concurrency need = "many requests at once" // moto manages a few, one after the other
	manyReads   need = "many reads"            // a query of moto's reads its whole table
	secrets     need = "secrets"               // dynalite has no Secrets Manager
	tenantNames need = "names of tenants"      // environment variables are everybody's
)

// peer is one implementation with what it runs on.
type peer struct {
	name  string
	open  func(t testing.TB) store // another handle on the same data, as another process has it
	hang  func(t testing.TB) store // a store whose backing does not answer
	put   func(t testing.TB, source secret.Source, value string)
	lacks []need
	exists, alreadyFinal,
	tooLarge, badCursor error
	// least is how many checks must have run: as many as there are, less those
	// that need what it lacks.
	least int
}

// has reports whether a check can run.
func (p peer) has(n need) bool {
	for _, lacking := range p.lacks {
		if n == lacking {
			return false
		}
	}
	return true
}

// check is one promise.
type check struct {
	name string
	need need
	run  func(t *testing.T, p peer, s store)
}

func checks() []check {
	var all []check
	for _, group := range [][]check{recordChecks(), queryChecks(), sessionChecks(), closingChecks(), registryChecks(), catalogChecks(), idempotencyChecks(), turnChecks(), counterChecks(), secretChecks(), failureChecks()} {
		all = append(all, group...)
	}
	return all
}

// run runs every check that the peer can and writes down how many passed.
func run(t *testing.T, p peer) {
	s := p.open(t)
	passed := 0
	for _, c := range checks() {
		if p.has(c.need) && t.Run(c.name, func(t *testing.T) { c.run(t, p, s) }) {
			passed++
		}
	}
	if selected := flag.Lookup("test.run").Value.String(); strings.Contains(selected, "/") {
		return // somebody looks at single checks
	}
	note(t, p.name, passed)
	if passed < p.least {
		t.Errorf("%d checks ran against %s, want at least %d", passed, p.name, p.least)
	}
}

// note writes a count where the whole run's last step looks for it.
func note(t *testing.T, name string, passed int) {
	t.Helper()
	dir := filepath.Join(peers.CacheDir(), "contract-counts")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), fmt.Appendln(nil, passed), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestCheckNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range checks() {
		if seen[c.name] {
			t.Errorf("two checks are called %q", c.name)
		}
		seen[c.name] = true
	}
}

func TestMain(m *testing.M) {
	if mode := os.Getenv(childEnv); mode != "" {
		os.Exit(child(mode))
	}
	syscall.Umask(0o022) // a data folder that others can write is refused
	os.Exit(m.Run())
}
