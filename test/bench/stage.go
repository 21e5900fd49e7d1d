package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"mcprelay/test/bench/authority"
	"mcprelay/test/bench/upstream"
)

// stage is the running parts and where they are reached.
type stage struct {
	self      string // this program, for the parts in it
	binary    string // the relay
	files     authority.Files
	config    string
	env       []string
	upstream  *process
	forwarder *process
	relay     *process
	upstreams addresses
	targets   map[string]addresses
	made      int            // calls answered so far
	relayed   int            // of them through the relay process
	counted   map[string]int // POSTs by method, as the upstream counts them
}

// startStage builds the relay and starts all parts.
func startStage(ctx context.Context, dir string, files authority.Files, o options) (*stage, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	s := &stage{self: self, files: files, binary: filepath.Join(dir, "relay"), config: filepath.Join(dir, "relay.json")}
	// The tokens guard nothing but this run.
	s.env = append(os.Environ(), tokenEnv+"=bench-relay-token", credentialEnv+"=bench-upstream-credential", "SSL_CERT_FILE="+files.Roots)
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", s.binary, "mcprelay/cmd/relay")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if _, err := output(build); err != nil {
		return nil, fmt.Errorf("building the relay: %w", err)
	}
	if err := s.startParts(ctx, dir, o); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *stage) startParts(ctx context.Context, dir string, o options) (err error) {
	s.upstream, err = start(ctx, "upstream", filepath.Join(dir, "upstream.log"), "{",
		s.part(ctx, "upstream", "-cert", s.files.Cert, "-key", s.files.Key, fmt.Sprintf("-legacy=%v", o.legacy)))
	if err != nil {
		return err
	}
	if s.upstreams, err = s.upstream.addresses(); err != nil {
		return err
	}
	s.forwarder, err = start(ctx, "forwarder", filepath.Join(dir, "forwarder.log"), "{",
		s.part(ctx, "forwarder", "-plain", s.upstreams.Plain, "-tls", s.upstreams.TLS, "-roots", s.files.Roots))
	if err != nil {
		return err
	}
	forwards, err := s.forwarder.addresses()
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.config, relayConfig(s.upstreams, o.credential), 0o600); err != nil {
		return fmt.Errorf("writing the relay's config: %w", err)
	}
	serve := exec.CommandContext(ctx, s.binary, "serve", "--config", s.config, "--listen", loopback,
		"--data", filepath.Join(dir, "data"), "--allow-loopback")
	serve.Env = s.env
	if s.relay, err = start(ctx, "relay", filepath.Join(dir, "relay.log"), listening, serve); err != nil {
		return err
	}
	_, base, _ := strings.Cut(strings.TrimSpace(s.relay.ready), listening)
	relays := addresses{base + "/v1/servers/plain/mcp", base + "/v1/servers/tls/mcp"}
	s.targets = map[string]addresses{"direct": s.upstreams, "forwarder": forwards, "relay": relays, "relay, intent": relays}
	return nil
}

// listening is what the relay says before its address.
const listening = "listening on "

// part is a command that runs this program as one of its parts.
func (s *stage) part(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.self, args...)
	cmd.Env = s.env
	return cmd
}

// stop ends the parts, those in front first.
func (s *stage) stop() error {
	return errors.Join(s.relay.stop(), s.forwarder.stop(), s.upstream.stop())
}

// check compares the upstream's counter with the calls made.
func (s *stage) check(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.upstreams.Plain, "/mcp")+upstream.CountPath, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("reading the upstream's counter: %w", err)
	}
	defer resp.Body.Close()
	counted := map[string]int{}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&counted); err != nil {
		return fmt.Errorf("reading the upstream's counter: %w", err)
	}
	s.counted = counted
	if got := counted["tools/call"]; got != s.made {
		return fmt.Errorf("the upstream counted %d calls, %d were made", got, s.made)
	}
	return nil
}

// records counts the audit records of calls that were answered; the relay
// must have ended, for its store is closed by then.
func (s *stage) records(ctx context.Context, data string) (int, error) {
	list := exec.CommandContext(ctx, s.binary, "audit", "--data", data, "--json", "--outcome", "answered", "--limit", fmt.Sprint(s.relayed+1000))
	out, err := output(list)
	if err != nil {
		return 0, fmt.Errorf("reading the audit trail: %w", err)
	}
	n := bytes.Count(out, []byte(`"operation":"tools/call"`))
	if n != s.relayed {
		return n, fmt.Errorf("the audit trail has %d answered calls, %d were made through the relay", n, s.relayed)
	}
	return n, nil
}
