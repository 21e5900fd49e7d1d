package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"

	"github.com/spf13/cobra"

	"mcprelay/shared/app"
	"mcprelay/shared/config"
	"mcprelay/shared/demo"
	"mcprelay/shared/door"
)

type serveOptions struct {
	flags
	listen string
	public string
	demo   bool
	tour   bool
	once   bool
}

func serveCommand() *cobra.Command {
	var o serveOptions
	command := &cobra.Command{
		Use:   "serve --config FILE",
		Short: "Serve the local relay",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return serve(c.Context(), o) },
	}
	o.add(command)
	command.Flags().StringVar(&o.listen, "listen", "127.0.0.1:8080", "the `address` to listen on")
	command.Flags().StringVar(&o.public, "public-url", os.Getenv("RELAY_PUBLIC_URL"), "the `URL` that clients know the relay by (RELAY_PUBLIC_URL)")
	command.Flags().BoolVar(&o.demo, "demo", false, "add a bundled MCP server and a config for it")
	command.Flags().BoolVar(&o.tour, "tour", false, "with --demo: make one call and show its audit line")
	command.Flags().BoolVar(&o.once, "once", false, "with --tour: stop after the call")
	return command
}

// serve runs until ctx ends.
func serve(ctx context.Context, o serveOptions) (err error) {
	if (o.tour && !o.demo) || (o.once && !o.tour) {
		return &usageError{errors.New("--tour needs --demo, and --once needs --tour")}
	}
	app.Collector()
	c, stop, err := serveConfig(ctx, &o)
	if err != nil {
		return err
	}
	defer stop()
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", o.listen, err)
	}
	defer listener.Close() // again, where it was served
	relay, err := openLocal(o.flags, c, localOptions{
		log: os.Stderr, localHosts: onLoopback(o.listen), ownHosts: []string{listener.Addr().String()}, callers: true,
		publicURL: o.public,
	})
	if err != nil {
		return err
	}
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeBudget)
		defer cancel()
		err = errors.Join(err, relay.Close(bounded))
	}()
	if err := announce(ctx, relay, listener.Addr().String()); err != nil {
		return err
	}
	return serveHTTP(ctx, relay, listener, o)
}

// serveConfig gives the config of the file, or of the demo server that it starts.
func serveConfig(ctx context.Context, o *serveOptions) (*config.Config, func(), error) {
	if !o.demo {
		c, err := loadConfig(o.flags)
		return c, func() {}, err
	}
	if o.config != "" {
		return nil, nil, &usageError{errors.New("--demo brings its own config: leave --config out")}
	}
	server, err := demo.Start(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("starting the demo server: %w", err)
	}
	stop := func() { _ = server.Close() } // the process ends with it
	o.loopback = true
	c, err := config.Parse("demo", demo.Config(server.URL()), config.Options{Loopback: true})
	if err != nil {
		stop()
		return nil, nil, err
	}
	return c, stop, nil
}

// announce prints what is doubtful about the config, then each server, with the
// stage and the reason where it cannot be used, then how to call the relay and
// where it listens.
func announce(ctx context.Context, l *localRelay, addr string) error {
	statuses, err := l.app.Relay().Ready(ctx, l.config.Tenant.ID)
	if err != nil {
		return err
	}
	for _, warning := range l.config.Warnings {
		fmt.Printf("relay: warning: %s\n", warning)
	}
	for _, status := range statuses {
		if status.Refusal == nil {
			fmt.Printf("relay: server %s is registered\n", status.Server)
			continue
		}
		row := status.Refusal.Row()
		fmt.Printf("relay: server %s is unusable: %s: %s (%s)\n", status.Server, row.Stage, row.Sentence, status.Refusal)
	}
	if l.minted != "" {
		fmt.Printf("relay: token of this run (subject local): %s\n", l.minted)
	}
	fmt.Printf("relay: listening on http://%s\n", addr)
	return nil
}

// Bounds of the local listener.
const (
	headTime = 10 * time.Second
	idleTime = 120 * time.Second
	maxHead  = 64 << 10 // bytes
	// graceTime is what calls in flight have when the relay is told to stop.
	graceTime = 10 * time.Second
)

// serveHTTP serves until ctx ends, then lets calls in flight end: for
// [graceTime] by themselves, after that by cancelling them, so that each still
// leaves its final before the store is closed.
func serveHTTP(ctx context.Context, l *localRelay, listener net.Listener, o serveOptions) error {
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	server := door.New(&http.Server{
		Handler: l.app.Handler(), ReadHeaderTimeout: headTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHead,
		BaseContext: func(net.Listener) context.Context { return calls },
		ErrorLog:    log.New(io.Discard, "", 0), // it quotes what clients send
	})
	defer sweeping(calls, l.app)()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	var err error
	if o.tour {
		err = tour(ctx, l, listener.Addr().String())
	}
	if err == nil && !o.once {
		select {
		case err := <-served:
			return err
		case <-ctx.Done():
		}
	}
	return errors.Join(err, shutdown(server, cancel), ignoreClosed(<-served))
}

func shutdown(server *door.Server, cancel context.CancelFunc) error {
	defer time.AfterFunc(graceTime, cancel).Stop()
	bounded, stop := context.WithTimeout(context.Background(), graceTime+closeBudget)
	defer stop()
	return server.Shutdown(bounded)
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// onLoopback reports whether an address to listen on is loopback.
func onLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
