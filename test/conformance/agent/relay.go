package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"mcprelay/shared/app"
	"mcprelay/shared/auth"
	"mcprelay/shared/call"
	"mcprelay/shared/config"
	"mcprelay/shared/store/local"
)

// registration is of one server, which may ask the agent for input. No call of
// the suite takes a second that is ever answered; the others need not be waited
// for.
const registration = `{"tenant":"suite","servers":[{"name":"suite","config":{"endpoint":%q,"elicitation":"pass","request_timeout_ms":3000,"auth":{"type":"none"}},"secrets":{}}],
 "rules":[{"action":"mcp.suite.host.*","decision":"allow"},{"action":"mcp.suite.tool.*","decision":"allow"},
 {"action":"mcp.suite.resource.*","decision":"allow"},{"action":"mcp.suite.prompt.*","decision":"allow"}]}`

// Path is the relay's MCP endpoint of the one server.
const Path = "/v1/servers/suite/mcp"

// token is that of the one caller.
const token = "token-of-the-agent"

// closing bounds the end of a relay.
const closing = 5 * time.Second

// Relay is a relay over one server, with its data in a folder of its own.
type Relay struct {
	app   *app.App
	store *local.Store
	dir   string
}

// Open makes the relay over the server at url, which may be on loopback. It
// must be closed.
func Open(url string, log io.Writer) (_ *Relay, err error) {
	dir, err := os.MkdirTemp("", "mcprelay-conformance-")
	if err != nil {
		return nil, err
	}
	r := &Relay{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	c, err := config.Parse("suite", fmt.Appendf(nil, registration, url), config.Options{Loopback: true})
	if err != nil {
		return nil, err
	}
	caller, err := auth.NewCaller(token, call.Principal{Tenant: "suite", Subject: "agent", Kind: call.KindUser, Scopes: []call.Scope{call.ScopeCall}})
	if err != nil {
		return nil, err
	}
	if r.store, err = local.Open(dir); err != nil {
		return nil, err
	}
	key, err := local.SealKey(dir)
	if err != nil {
		return nil, err
	}
	r.app, err = app.New(app.Options{
		Registry: app.FileRegistry{Registration: c.Tenant}, Store: r.store, Callers: []auth.Caller{caller},
		Loopback: true, LocalHosts: true, Log: log, Now: time.Now, SealKeys: [][]byte{key},
	})
	return r, err
}

// Handler is the relay's surface as its one caller sees it: the suite has no
// credentials to send, so that each request is given the caller's here.
func (r *Relay) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		request.Header.Set("Authorization", "Bearer "+token)
		r.app.Handler().ServeHTTP(w, request)
	})
}

// Close ends the relay and removes its data.
func (r *Relay) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	var errs []error
	if r.app != nil {
		errs = append(errs, r.app.Close(ctx))
	}
	if r.store != nil {
		errs = append(errs, r.store.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(r.dir))...)
}
