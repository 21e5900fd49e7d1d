package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"mcprelay/test/bench/load"
	"mcprelay/test/bench/upstream"
)

// listed is how many servers a list is measured over, each with as many tools
// as the relay takes of one.
const listed = 8

// listing is what a list of the tools of all servers costs, as long as what is
// kept of them is fresh.
type listing struct {
	Servers int     `json:"servers"`
	Tools   int     `json:"tools"` // of each
	Calls   int     `json:"calls"`
	P50     float64 `json:"p50_us"`
	P99     float64 `json:"p99_us"`
	Bytes   int     `json:"bytes"` // of the reply's body
}

// lists measures a relay of its own, with a first list before the clock starts
// that reads all servers. The upstream must see nothing of the others.
func (s *stage) lists(ctx context.Context, dir string, o options) (l listing, err error) {
	file := filepath.Join(dir, "lists.json")
	if err := os.WriteFile(file, listConfig(s.upstreams.Plain), 0o600); err != nil {
		return l, fmt.Errorf("writing the config of many servers: %w", err)
	}
	serve := exec.CommandContext(ctx, s.binary, "serve", "--config", file, "--listen", loopback, "--data", filepath.Join(dir, "lists"), "--allow-loopback")
	serve.Env = s.env
	relay, err := start(ctx, "relay", filepath.Join(dir, "lists.log"), listening, serve)
	if err != nil {
		return l, err
	}
	_, base, _ := strings.Cut(strings.TrimSpace(relay.ready), listening)
	result, err := s.list(ctx, base, share(o.calls, setup{Size: large}))
	if stopped := relay.stop(); err == nil {
		err = stopped
	}
	if err != nil {
		return l, fmt.Errorf("listing: %w\n%s", err, relay.tail())
	}
	return listing{
		Servers: listed, Tools: upstream.Many, Calls: len(result.Latencies), Bytes: result.Bytes,
		P50: quantile(result.Latencies, 0.50), P99: quantile(result.Latencies, 0.99),
	}, nil
}

// list asks once, and then as often as is measured.
func (s *stage) list(ctx context.Context, base string, calls int) (result load.Result, err error) {
	before := 0
	for i, n := range []int{1, calls} {
		out, err := output(s.part(ctx, "load", "-list", "-url", base+"/v1/mcp", "-token", "-calls", fmt.Sprint(n)))
		if err != nil {
			return result, err
		}
		if err := json.Unmarshal(out, &result); err != nil {
			return result, fmt.Errorf("reading the result: %w", err)
		}
		if err := s.check(ctx); err != nil {
			return result, err
		}
		seen := 0
		for _, posts := range s.counted {
			seen += posts
		}
		if i > 0 && seen != before {
			return result, fmt.Errorf("the upstream counted %d requests for lists that were fresh", seen-before)
		}
		before = seen
	}
	return result, nil
}

// listConfig registers the upstream once for each server.
func listConfig(url string) []byte {
	base, servers, rules := strings.TrimSuffix(url, "/mcp"), []any{}, []any{}
	for i := range listed {
		name := fmt.Sprintf("s%d", i)
		servers = append(servers, map[string]any{"name": name, "config": map[string]any{
			"endpoint": base + upstream.ManyPath + name, "auth": map[string]string{"type": "none"},
		}})
		rules = append(rules, map[string]string{"action": "mcp." + name + ".*", "decision": "allow"})
	}
	text, err := json.Marshal(map[string]any{
		"tenant": "bench", "servers": servers, "rules": rules,
		"callers": []any{map[string]any{"subject": "load", "kind": "user", "scopes": []string{"call"}, "token_env": tokenEnv}},
	})
	if err != nil {
		return []byte(err.Error()) // no config, as the relay will say
	}
	return text
}
