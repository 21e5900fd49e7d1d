package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"mcprelay/test/bench/load"
	"mcprelay/test/bench/upstream"
)

// The payloads: text of about a sentence, and of 256 KiB, which is a large
// document and a quarter of what the relay takes.
const (
	small = 64
	large = 256 << 10
)

// many is the larger number of clients.
const many = 8

// setup is one row of the plan: everything but the target.
type setup struct {
	Transport string `json:"transport"` // to the upstream: plain or tls
	Size      int    `json:"size"`      // bytes of text in the arguments
	Clients   int    `json:"clients"`
}

// row is a setup with what each target came to, a result a round.
type row struct {
	setup
	results map[string][]load.Result
}

// targets in the order in which a round goes through them. "relay, intent" is
// the relay with a tool that nobody classified, so that an intent is durable
// before each call.
func targets() []string { return []string{"direct", "forwarder", "relay", "relay, intent"} }

// plan is all setups; a quick one has two that between them go both ways with
// both payloads and both numbers of clients.
func plan(quick bool) []row {
	if quick {
		return []row{
			{setup{"plain", small, 1}, map[string][]load.Result{}},
			{setup{"tls", large, many}, map[string][]load.Result{}},
		}
	}
	var rows []row
	for _, transport := range []string{"plain", "tls"} {
		for _, size := range []int{small, large} {
			for _, clients := range []int{1, many} {
				rows = append(rows, row{setup{transport, size, clients}, map[string][]load.Result{}})
			}
		}
	}
	return rows
}

// rounds goes through the plan, target by target within a row, so that a
// machine that slows down slows all of them.
func (s *stage) rounds(ctx context.Context, o options) ([]row, error) {
	rows := plan(o.quick)
	for range o.rounds {
		for _, r := range rows {
			for _, target := range targets() {
				result, err := s.load(ctx, o, r.setup, target)
				if err != nil {
					return nil, fmt.Errorf("%s, %s, %d bytes, %d clients: %w", target, r.Transport, r.Size, r.Clients, err)
				}
				r.results[target] = append(r.results[target], result)
			}
		}
	}
	return rows, nil
}

// load runs the load part once and checks the upstream's counter after it.
func (s *stage) load(ctx context.Context, o options, u setup, target string) (load.Result, error) {
	url := s.targets[target].Plain
	if u.Transport == "tls" {
		url = s.targets[target].TLS
	}
	calls := share(o.calls, u)
	relayed := strings.HasPrefix(target, "relay")
	tool := upstream.Classified
	if target == "relay, intent" {
		tool = upstream.Unclassified
	}
	var result load.Result
	out, err := output(s.part(ctx, "load", "-url", url, "-tool", tool, "-roots", s.files.Roots,
		"-size", fmt.Sprint(u.Size), "-clients", fmt.Sprint(u.Clients),
		"-calls", fmt.Sprint(calls), "-warmup", fmt.Sprint(warmup(calls)), fmt.Sprintf("-token=%v", relayed)))
	if err != nil {
		return result, err
	}
	if err := json.Unmarshal(out, &result); err != nil {
		return result, fmt.Errorf("reading the result: %w", err)
	}
	s.made += result.Sent
	if relayed {
		s.relayed += result.Sent
	}
	return result, s.check(ctx)
}

// share is the calls of each client, so that every run takes about as long.
func share(calls int, u setup) int {
	if u.Size >= large {
		calls /= 10
	}
	if u.Clients > 1 {
		calls /= 4
	}
	return max(calls, 1)
}

// warmup opens the connections along the whole way and fills the caches.
func warmup(calls int) int { return max(calls/10, 3) }
