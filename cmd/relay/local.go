package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"mcprelay/shared/app"
	"mcprelay/shared/auth"
	"mcprelay/shared/call"
	"mcprelay/shared/config"
	"mcprelay/shared/store/local"
)

// logPause is how long the line of a final waits for others: nobody sees it, and
// the trail has the record already.
const logPause = 50 * time.Millisecond

// localRelay is the relay in this process, with its store.
type localRelay struct {
	app    *app.App
	store  *local.Store
	config *config.Config
	minted string // the token made at start, where no caller is configured
}

// loadConfig reads the config file of f.
func loadConfig(f flags) (*config.Config, error) {
	if f.config == "" {
		return nil, &usageError{errors.New("--config is needed")}
	}
	return config.Load(f.config, config.Options{Loopback: f.loopback, Processes: true})
}

// localOptions are what serving and a single call differ in.
type localOptions struct {
	log        io.Writer
	localHosts bool     // refuse hosts that are not loopback names
	ownHosts   []string // of the listener
	callers    bool     // somebody will present a credential
	publicURL  string   // what clients know the relay by
}

// openLocal opens the store and wires the relay over it.
func openLocal(f flags, c *config.Config, o localOptions) (*localRelay, error) {
	store, err := local.Open(f.data)
	if err != nil {
		return nil, err
	}
	l := &localRelay{store: store, config: c}
	key, err := local.SealKey(f.data)
	var callers []auth.Caller
	if err == nil && o.callers {
		callers, err = l.callers()
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	l.app, err = app.New(app.Options{
		Registry: app.FileRegistry{Registration: c.Tenant},
		Store:    store, Callers: callers, Processes: true,
		Log:      o.log,
		LogPause: logPause,
		Loopback: f.loopback, LocalHosts: o.localHosts, OwnHosts: o.ownHosts,
		SealKeys:  [][]byte{key},
		Issuers:   app.FileIssuers(c.Tenant),
		PublicURL: o.publicURL, AuthorizationServers: app.IssuerNames(c.Tenant),
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return l, nil
}

// Close ends idle connections, then the store.
func (l *localRelay) Close(ctx context.Context) error {
	return errors.Join(l.app.Close(ctx), l.store.Close())
}

// principal is who calls from this process itself.
func (l *localRelay) principal() call.Principal {
	return call.Principal{Tenant: l.config.Tenant.ID, Subject: "local", Kind: call.KindUser, Scopes: []call.Scope{call.ScopeCall}}
}

// callers are those of the config file, or one with a minted token.
func (l *localRelay) callers() ([]auth.Caller, error) {
	if len(l.config.Callers) == 0 {
		minted, caller, err := auth.Local(l.config.Tenant.ID, rand.Reader)
		if err != nil {
			return nil, fmt.Errorf("minting a token: %w", err)
		}
		l.minted = minted
		return []auth.Caller{caller}, nil
	}
	callers := make([]auth.Caller, 0, len(l.config.Callers))
	for i, c := range l.config.Callers {
		caller, err := auth.NewCaller(os.Getenv(c.TokenEnv), call.Principal{
			Tenant: l.config.Tenant.ID, Subject: c.Subject, Kind: c.Kind, Scopes: c.Scopes,
		})
		if err != nil { // the variable is not named: somebody may have put the token in its place
			return nil, fmt.Errorf("callers[%d].token_env: the environment variable of this name: %w", i, err)
		}
		callers = append(callers, caller)
	}
	return callers, nil
}

// closeBudget bounds the end of a local relay.
const closeBudget = 10 * time.Second

// withRelay runs something over the local store.
func withRelay(ctx context.Context, f flags, do func(*localRelay) error) (err error) {
	c, err := loadConfig(f)
	if err != nil {
		return err
	}
	l, err := openLocal(f, c, localOptions{log: os.Stderr})
	if err != nil {
		return err
	}
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeBudget)
		defer cancel()
		err = errors.Join(err, l.Close(bounded))
	}()
	return do(l)
}
