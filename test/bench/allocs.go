package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"

	"mcprelay/shared/app"
	"mcprelay/shared/auth"
	"mcprelay/shared/call"
	"mcprelay/shared/config"
	"mcprelay/shared/store/local"
	"mcprelay/shared/token"
	"mcprelay/test/bench/forwarder"
	"mcprelay/test/bench/load"
	"mcprelay/test/bench/upstream"
)

// allocs is what one call costs the memory allocator. It is counted in a
// process that holds the handler and nothing else, by the difference of
// runtime.MemStats over many calls: every goroutine counts, the writer of the
// audit trail included; the net/http server around the handler, the same for
// all, does not, and what building a request costs is taken off.
type allocs struct {
	Target string  `json:"target"`
	Size   int     `json:"size"`
	Count  float64 `json:"allocations"`
	Bytes  float64 `json:"bytes"`
}

// allocs runs the part, against the same upstream.
func (s *stage) allocs(ctx context.Context, o options) ([]allocs, error) {
	calls := min(o.calls, 1000)
	out, err := output(s.part(ctx, "allocs", "-config", s.config, "-url", s.upstreams.Plain, "-calls", fmt.Sprint(calls)))
	if err != nil {
		return nil, fmt.Errorf("counting allocations: %w", err)
	}
	var rows []allocs
	if err := json.Unmarshal(out, &rows); err != nil {
		return nil, fmt.Errorf("reading the allocations: %w", err)
	}
	s.made += len(rows) * (calls + warmup(calls))
	return rows, s.check(ctx)
}

// countAllocs is the part.
func countAllocs(ctx context.Context, args []string, out io.Writer) (err error) {
	f := flag.NewFlagSet("allocs", flag.ContinueOnError)
	file := f.String("config", "", "the relay's config file")
	url := f.String("url", "", "the upstream's plain URL")
	calls := f.Int("calls", 100, "calls of each kind")
	if err := f.Parse(args); err != nil {
		return err
	}
	relay, end, err := handler(*file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	bare := forwarder.New(*url, nil)
	var rows []allocs
	for _, size := range []int{small, large} {
		for _, kind := range []struct {
			target, tool string
			handler      http.Handler
		}{
			{"forwarder", upstream.Classified, bare},
			{"relay", upstream.Classified, relay},
			{"relay, intent", upstream.Unclassified, relay},
		} {
			p := load.Plan{URL: "http://127.0.0.1/v1/servers/plain/mcp", Tool: kind.tool, Token: os.Getenv(tokenEnv), Arguments: arguments(size)}
			count, bytes, err := perCall(ctx, kind.handler, p, *calls)
			if err != nil {
				return fmt.Errorf("%s: %w", kind.target, err)
			}
			rows = append(rows, allocs{kind.target, size, count, bytes})
		}
	}
	return json.NewEncoder(out).Encode(rows)
}

// handler wires the relay as the command does, in a folder of its own.
func handler(file string) (http.Handler, func() error, error) {
	c, err := config.Load(file, config.Options{Loopback: true})
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "mcprelay-allocs-")
	if err != nil {
		return nil, nil, err
	}
	store, err := local.Open(dir)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	caller := c.Callers[0]
	a, err := app.New(app.Options{
		Registry: app.FileRegistry{Registration: c.Tenant}, Store: store,
		Callers: []auth.Caller{{Hash: token.Hash(os.Getenv(caller.TokenEnv)), Principal: call.Principal{
			Tenant: c.Tenant.ID, Subject: caller.Subject, Kind: caller.Kind, Scopes: caller.Scopes,
		}}},
		Loopback: true, LocalHosts: true,
	})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close(), os.RemoveAll(dir))
	}
	end := func() error { return errors.Join(a.Close(context.Background()), store.Close(), os.RemoveAll(dir)) }
	return a.Handler(), end, nil
}

// perCall measures h, less what the requests themselves cost.
func perCall(ctx context.Context, h http.Handler, p load.Plan, calls int) (count, bytes float64, err error) {
	if err := serve(ctx, h, p, warmup(calls)); err != nil {
		return 0, 0, err
	}
	count, bytes, err = spent(func() error { return serve(ctx, h, p, calls) })
	if err != nil {
		return 0, 0, err
	}
	answered := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(p.Arguments)) })
	own, ownBytes, err := spent(func() error { return serve(ctx, answered, p, calls) })
	n := float64(calls)
	return (count - own) / n, (bytes - ownBytes) / n, err
}

// spent is what f allocates, in this and every other goroutine.
func spent(f func() error) (count, bytes float64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = f()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc), err
}

// serve hands h the same call n times.
func serve(ctx context.Context, h http.Handler, p load.Plan, n int) error {
	w := &sink{header: http.Header{}}
	for range n {
		r, err := p.Request(ctx)
		if err != nil {
			return err
		}
		clear(w.header)
		w.status, w.body = http.StatusOK, w.body[:0]
		h.ServeHTTP(w, r)
		if w.status != http.StatusOK || !strings.Contains(string(w.body), p.Arguments) {
			return fmt.Errorf("answered with status %d and not with the arguments: %.300s", w.status, w.body)
		}
	}
	return nil
}

// sink is a response writer that keeps its buffer.
type sink struct {
	header http.Header
	status int
	body   []byte
}

func (s *sink) Header() http.Header    { return s.header }
func (s *sink) WriteHeader(status int) { s.status = status }
func (s *sink) Flush()                 {}

func (s *sink) Write(b []byte) (int, error) {
	s.body = append(s.body, b...)
	return len(b), nil
}
