// Package app wires the relay: from a registration, stores and a clock to one
// handler. Functions and the command use it; nothing else imports it.
//
// It promises the same pipeline on a laptop and in a Lambda. It refuses to be
// made without its stores, and loopback endpoints unless the program that
// calls it says so in code.
package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"mcprelay/shared/audit"
	"mcprelay/shared/auth"
	"mcprelay/shared/budget"
	"mcprelay/shared/call"
	"mcprelay/shared/egress"
	"mcprelay/shared/exchange"
	"mcprelay/shared/front"
	"mcprelay/shared/relay"
	"mcprelay/shared/seal"
	"mcprelay/shared/secret"
	"mcprelay/shared/stdio"
	"mcprelay/shared/token"
	"mcprelay/shared/turn"
)

// Name is the relay's name in serverInfo and clientInfo.
const Name = "mcprelay"

// Version is the relay's version, in serverInfo, User-Agent and /healthz.
const Version = "0.1.0"

// Store is everything that a deployment keeps but its registration.
type Store interface { // arch:allow interfaces: the sum of its consumers' own small ones
	auth.Tokens
	exchange.Sessions
	relay.OpenSessions
	relay.Catalogs
	relay.Keys
	relay.Recorder
	turn.Store
	budget.Counters
	Secret(ctx context.Context, tenant string, source secret.Source) (secret.Value, error)
}

// Options make an app. Registry and Store must be set.
type Options struct {
	Registry relay.Registry
	Store    Store
	Callers  []auth.Caller    // of the config file; local mode only
	Log      io.Writer        // of JSON lines; nil: discarded
	LogPause time.Duration    // how long the lines of finals may wait for others; 0: not at all
	Now      func() time.Time // nil: time.Now
	// Loopback makes endpoints that are spelled as loopback reachable. It is
	// set by a command's flag or a test, never by configuration.
	Loopback bool
	// Processes makes servers that are child processes usable: local mode only.
	Processes bool
	// LocalHosts refuses requests whose Host is not a loopback name.
	LocalHosts bool
	// OwnHosts are names of the relay itself, refused as endpoints.
	OwnHosts []string
	// SealKeys seal what servers ask of agents: the first one seals, all open. See
	// [seal.New]. Without any, no server may ask. Service tokens are hashed with
	// keys derived from them, see [token.NewPeppers].
	SealKeys [][]byte
	// Issuers finds the issuers whose JWTs callers may show; nil: none.
	Issuers Issuers
	// PublicURL is what clients know the relay by; empty: only on loopback can
	// they be told where tokens come from.
	PublicURL string
	// AuthorizationServers are the issuers that clients are told of (RFC 9728).
	AuthorizationServers []string
}

// Hosts reads names as RELAY_OWN_HOSTS lists them: between commas or blanks.
func Hosts(list string) []string {
	return strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' })
}

// App is a wired relay.
type App struct {
	relay *relay.Relay
	front *front.Front
	guard *egress.Guard
	log   *slog.Logger
	lines *audit.Log

	processes *stdio.Pool // nil where none may run
}

// New wires an app.
func New(o Options) (*App, error) {
	if o.Registry == nil || o.Store == nil {
		return nil, errors.New("app: the registry or the store is missing")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	lines := audit.NewLog(o.Log, o.LogPause)
	log := slog.New(slog.NewJSONHandler(lines, nil))
	base, host, err := publicURL(o.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("app: %w", err)
	}
	if host != "" {
		o.OwnHosts = append(slices.Clone(o.OwnHosts), host)
	}
	guard := newGuard(o)
	sealer, err := newSealer(o.SealKeys)
	if err != nil {
		return nil, fmt.Errorf("app: %w", err)
	}
	authenticator, err := newAuthenticator(o, guard)
	if err != nil {
		return nil, fmt.Errorf("app: %w", err)
	}
	a := &App{guard: guard, log: log, lines: lines}
	if o.Processes {
		// Children run as the same user, and a process's environment, which holds
		// every secret of a local relay, is a file that its user can read.
		if err := stdio.Conceal(); err != nil {
			return nil, fmt.Errorf("app: hiding the relay's environment from child processes: %w", err)
		}
		a.processes = stdio.New(stdio.Config{Log: log, Now: o.Now, Name: Name, Version: Version})
	}
	a.relay = relay.New(relay.Config{
		Registry:  o.Registry,
		Secrets:   secret.NewCache(o.Store.Secret, o.Now),
		Guard:     guard,
		Exchange:  exchange.New(exchange.Config{Guard: guard, Sessions: o.Store, Now: o.Now, Name: Name, Version: Version}),
		Sessions:  o.Store,
		Open:      o.Store,
		Catalogs:  o.Store,
		Recorder:  o.Store,
		Processes: a.processes,
		Sealer:    sealer,
		Keys:      o.Store,
		Turns:     o.Store,
		Counters:  o.Store,
		NewID:     NewID,
		Lines:     lines,
		Log:       log,
		Now:       o.Now,
	})
	a.front = a.newFront(o, base, authenticator.Authenticate)
	return a, nil
}

// newFront makes what agents speak to, known to clients by a base URL.
func (a *App) newFront(o Options, base string, authenticate front.Authenticate) *front.Front {
	return front.New(front.Options{
		Relay:        a.relay,
		Authenticate: authenticate,
		Name:         Name,
		Version:      Version,
		Now:          o.Now,
		NewID:        NewID,
		LocalHosts:   o.LocalHosts,

		PublicURL:            base,
		AuthorizationServers: o.AuthorizationServers,
	})
}

// Authenticator is what names callers, without the rest of an app. Of the
// options it takes those that concern callers and the guard. Its connections
// live as long as the process.
func Authenticator(o Options) (*auth.Authenticator, error) {
	a, err := newAuthenticator(o, newGuard(o))
	if err != nil {
		return nil, fmt.Errorf("app: %w", err)
	}
	return a, nil
}

func newGuard(o Options) *egress.Guard {
	return egress.New(egress.Config{Loopback: o.Loopback, OwnHosts: o.OwnHosts, Now: o.Now})
}

func newAuthenticator(o Options, guard *egress.Guard) (*auth.Authenticator, error) {
	peppers, err := token.NewPeppers(o.SealKeys...)
	if err != nil {
		return nil, err
	}
	base, _, err := publicURL(o.PublicURL)
	if err != nil {
		return nil, err
	}
	return auth.New(auth.Options{
		PublicURL: base,
		Tokens:    o.Store, Callers: o.Callers, Peppers: peppers, Now: o.Now,
		Issuers: o.Issuers, Fetch: fetch(guard, auth.MaxKeys),
	}), nil
}

// newSealer gives nil where there is no key.
func newSealer(keys [][]byte) (*seal.Sealer, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	return seal.New(keys...)
}

// Refuse answers for a request that never became one, see [front.Front.Refuse].
func (a *App) Refuse(w http.ResponseWriter, r *http.Request, refusal *call.Refusal) {
	a.front.Refuse(w, r, refusal)
}

// Handler is the agents' HTTP surface.
func (a *App) Handler() http.Handler { return a.front }

// Log is where the app logs, for what else its program has to say.
func (a *App) Log() *slog.Logger { return a.log }

// Relay is the pipeline behind it, for the operator's command.
func (a *App) Relay() *relay.Relay { return a.relay }

// Rest waits until the relay reads no lists in the background, or ctx ends: a
// process that is frozen between requests has to.
func (a *App) Rest(ctx context.Context) { a.relay.Rest(ctx) }

// Close ends what is read in the background, the child processes and the idle
// connections to upstreams, and writes the lines that wait.
func (a *App) Close(ctx context.Context) error {
	a.relay.Close(ctx)
	err := a.guard.Close()
	if a.processes != nil {
		err = errors.Join(err, a.processes.Close(ctx))
	}
	return errors.Join(err, a.lines.Close())
}

// NewID makes a call id: a ULID of the given time, its other 80 bits random.
func NewID(at time.Time) string {
	var id ulid.ULID
	if err := id.SetTime(ulid.Timestamp(at)); err != nil {
		return ulid.Make().String()
	}
	var entropy [10]byte
	// crypto/rand.Read never fails since Go 1.24.
	_, _ = rand.Read(entropy[:])
	copy(id[6:], entropy[:])
	return id.String()
}
