// Package demo is the MCP server that `relay serve --demo` brings along, so
// that a first call needs no other machine and no account.
//
// It promises a handful of deterministic tools, served statelessly to both
// eras of MCP on one URL, and the relay configuration that reaches them. It
// refuses to listen on anything but a loopback address, for it asks no caller
// who they are.
package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Name is the name under which [Config] registers the server.
const Name = "demo"

// Version is what the server says of itself in serverInfo.
const Version = "1.0.0"

const (
	// The path is part of the endpoint, as with most servers in the field.
	path = "/mcp"
	// A client that has not sent its head by then is no client of a tour.
	headTimeout = 10 * time.Second
	// A countdown that is still running gets this long before it is cut off.
	closeTimeout = 2 * time.Second
)

// ErrNotLoopback is returned by [Start] for an address outside loopback.
var ErrNotLoopback = errors.New("the demo server listens on loopback only")

// Server is a running demo server. The zero Server is not usable.
type Server struct {
	listener net.Listener
	http     *http.Server
	end      context.CancelFunc // of every request in flight
	done     chan struct{}
}

// Start listens on addr, a literal such as 127.0.0.1:0 (port 0 picks a free
// one), and serves until [Server.Close]. The end of ctx ends the calls in
// flight, not the listener.
func Start(ctx context.Context, addr string) (*Server, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the demo server: %w", err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("listening on %s: %w", addr, ErrNotLoopback)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("starting the demo server: %w", err)
	}
	ctx, end := context.WithCancel(ctx)
	s := &Server{
		listener: listener,
		http: &http.Server{
			Handler:           handler(ctx),
			ReadHeaderTimeout: headTimeout,
			BaseContext:       func(net.Listener) context.Context { return ctx },
		},
		end:  end,
		done: make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(listener) // always ErrServerClosed or the listener's end
	}()
	return s, nil
}

// URL is the endpoint, for instance http://127.0.0.1:40123/mcp.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + path }

// Close stops listening, waits up to two seconds for the calls in flight, cuts
// off what is left and returns when nothing of the server runs any more.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := s.http.Shutdown(ctx)
	s.end()
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	<-s.done
	if err != nil {
		return fmt.Errorf("closing the demo server: %w", err)
	}
	return nil
}

// handler serves [path] and answers 404 elsewhere, so that clients probing the
// OAuth well-known paths learn quickly that there is nothing to authorise.
func handler(ctx context.Context) http.Handler {
	server := newServer(ctx)
	mux := http.NewServeMux()
	mux.Handle(path, withRaw(mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		// Only a stateless handler serves 2026-07-28 (SDK, StreamableHTTPOptions).
		&mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true},
	)))
	return mux
}
