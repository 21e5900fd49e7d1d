package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"mcprelay/test/bench/authority"
	"mcprelay/test/bench/forwarder"
	"mcprelay/test/bench/load"
	"mcprelay/test/bench/upstream"
)

// addresses are what a serving part prints when it listens.
type addresses struct {
	Plain string `json:"plain"`
	TLS   string `json:"tls"`
}

// loopback lets the system pick a free port.
const loopback = "127.0.0.1:0"

// serveUpstream is the part behind everything: one server, two listeners.
func serveUpstream(args []string, out io.Writer) error {
	f := flag.NewFlagSet("upstream", flag.ContinueOnError)
	cert := f.String("cert", "", "the server's certificate")
	key := f.String("key", "", "its key")
	legacy := f.Bool("legacy", false, "know 2025-11-25 only")
	if err := f.Parse(args); err != nil {
		return err
	}
	secure, err := authority.Server(*cert, *key)
	if err != nil {
		return err
	}
	plain, err := net.Listen("tcp", loopback)
	if err != nil {
		return err
	}
	tls, err := net.Listen("tcp", loopback)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: upstream.New(*legacy), TLSConfig: secure}
	ended := make(chan error, 2)
	go func() { ended <- server.Serve(plain) }()
	go func() { ended <- server.ServeTLS(tls, "", "") }()
	return untilStdinEnds(out, addresses{"http://" + plain.Addr().String() + "/mcp", "https://" + tls.Addr().String() + "/mcp"}, ended)
}

// serveForwarder is the yardstick: one listener, a path for each way onward.
func serveForwarder(args []string, out io.Writer) error {
	f := flag.NewFlagSet("forwarder", flag.ContinueOnError)
	plain := f.String("plain", "", "the upstream's plain URL")
	secure := f.String("tls", "", "the upstream's TLS URL")
	roots := f.String("roots", "", "the authority of the upstream's certificate")
	if err := f.Parse(args); err != nil {
		return err
	}
	pool, err := authority.Roots(*roots)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", loopback)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/plain", forwarder.New(*plain, pool))
	mux.Handle("/tls", forwarder.New(*secure, pool))
	ended := make(chan error, 1)
	go func() { ended <- http.Serve(listener, mux) }()
	base := "http://" + listener.Addr().String()
	return untilStdinEnds(out, addresses{base + "/plain", base + "/tls"}, ended)
}

// untilStdinEnds says where a part listens and lets it live as long as the
// bench that holds its standard input.
func untilStdinEnds(out io.Writer, a addresses, ended <-chan error) error {
	if err := json.NewEncoder(out).Encode(a); err != nil {
		return err
	}
	closed := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the end is all that matters
		close(closed)
	}()
	select {
	case err := <-ended:
		return err
	case <-closed:
		return nil
	}
}

// tokenEnv holds the relay's token for the load part and the relay.
const tokenEnv = "MCPRELAY_BENCH_TOKEN"

// makeLoad is the part that calls and measures.
func makeLoad(ctx context.Context, args []string, out io.Writer) error {
	var p load.Plan
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	f.StringVar(&p.URL, "url", "", "where to post")
	f.StringVar(&p.Tool, "tool", upstream.Classified, "the tool to call")
	f.BoolVar(&p.List, "list", false, "ask for the tools instead of calling one")
	f.IntVar(&p.Clients, "clients", 1, "connections")
	f.IntVar(&p.Calls, "calls", 1, "counted calls of each")
	f.IntVar(&p.Warmup, "warmup", 0, "calls of each before that")
	size := f.Int("size", 0, "bytes of text in the arguments")
	roots := f.String("roots", "", "the authority of the target's certificate")
	token := f.Bool("token", false, "send the token in "+tokenEnv)
	if err := f.Parse(args); err != nil {
		return err
	}
	if p.Clients < 1 || p.Calls < 1 || p.Warmup < 0 || *size < 0 {
		return errors.New("load: clients and calls must be at least 1")
	}
	var err error
	if p.Roots, err = authority.Roots(*roots); err != nil {
		return err
	}
	if *token {
		p.Token = os.Getenv(tokenEnv)
	}
	p.Arguments = arguments(*size)
	result, err := load.Run(ctx, p)
	if err != nil {
		return fmt.Errorf("load on %s: %w", p.URL, err)
	}
	return json.NewEncoder(out).Encode(result)
}

// arguments is an object with what round trips break first, and size bytes of text.
func arguments(size int) string {
	const words = `plain words, \"quoted\" ones, <tags> & \u00e9scapes; `
	text := make([]byte, 0, size+len(words))
	for len(text)+len(words) <= size {
		text = append(text, words...)
	}
	for len(text) < size {
		text = append(text, '.')
	}
	return `{"z":9007199254740993,"a":1.0,"text":"` + string(text) + `"}`
}
