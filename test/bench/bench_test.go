package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/test/bench/load"
)

// The parts are this program, so the test binary must be able to be them.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A quick run against the built relay. That the upstream's counter and the
// audit trail agree with the calls made is checked by the run itself.
func TestAQuickRunGoesEveryWay(t *testing.T) {
	for _, args := range [][]string{{"-quick", "-json"}, {"-quick", "-json", "-legacy", "-credential=false"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			var out bytes.Buffer
			if err := run(t.Context(), args, &out); err != nil {
				t.Fatal(err)
			}
			var r report
			if err := json.Unmarshal(out.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			checkFigures(t, r)
			checkCounters(t, r)
			checkCold(t, r.Cold)
			legacy := len(args) > 2
			if initialized := r.Posts["initialize"] > 0; initialized != legacy {
				t.Errorf("got the POSTs %v; initialize must come to a legacy upstream, and to no other", r.Posts)
			}
		})
	}
}

func checkFigures(t *testing.T, r report) {
	t.Helper()
	if want := len(plan(true)) * len(targets()); len(r.Figures) != want {
		t.Errorf("got %d figures, want %d", len(r.Figures), want)
	}
	for _, f := range r.Figures {
		for name, value := range map[string]float64{
			"p50": f.P50, "p99": f.P99, "calls/s": f.PerSecond,
			"ratio of p50": f.RatioP50, "ratio of p99": f.RatioP99, "ratio of calls/s": f.RatioRate,
		} {
			if !(value > 0) || f.Target == "forwarder" && strings.HasPrefix(name, "ratio") && value != 1 {
				t.Errorf("%+v: %s is %v", f.setup, name, value)
			}
		}
		if want := share(quickCalls, f.setup) * f.Clients; f.Calls != want {
			t.Errorf("%s in %+v: %d calls, want %d", f.Target, f.setup, f.Calls, want)
		}
	}
	if l := r.Lists; l.Servers*l.Tools != 512 || l.Calls < 1 || !(l.P50 > 0) || !(l.P99 >= l.P50) || l.Bytes < 512*100 {
		t.Errorf("got the lists %+v, want some of 512 tools", l)
	}
	if len(r.Decisions) != 3 || r.Decisions[0].Policies != 0 || r.Decisions[2].Policies != 10 {
		t.Errorf("got the decisions %+v, want those by rules alone, with one policy and with ten", r.Decisions)
	}
	if len(r.Allocs) != 6 {
		t.Errorf("got %d rows of allocations, want 6", len(r.Allocs))
	}
	for _, a := range r.Allocs {
		if a.Count <= 0 || a.Bytes <= 0 {
			t.Errorf("%s, %d bytes: got %v allocations of %v bytes", a.Target, a.Size, a.Count, a.Bytes)
		}
	}
}

func checkCounters(t *testing.T, r report) {
	t.Helper()
	perTarget := 0
	for _, row := range plan(true) {
		calls := share(quickCalls, row.setup)
		perTarget += (calls + warmup(calls)) * row.Clients
	}
	inProcess := 6 * (quickCalls + warmup(quickCalls))
	if want := perTarget*len(targets()) + inProcess; r.Posts["tools/call"] != want {
		t.Errorf("the upstream counted %d calls, want %d", r.Posts["tools/call"], want)
	}
	if want := 2 * perTarget; r.Records != want {
		t.Errorf("the audit trail has %d calls, want %d", r.Records, want)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-n", "0"}, {"-rounds", "0"}, {"nonsense"}, {"-quick", "more"}, {"load", "-clients", "0"}, {"load", "-size", "-1"}, {"upstream"}, {"forwarder", "-roots", "missing.pem"}, {"allocs", "-config", "missing.json"}, {"cold", "-starts", "0"}, {"cold", "more"}} {
		if err := run(t.Context(), args, &bytes.Buffer{}); err == nil {
			t.Errorf("%q: want an error", args)
		}
	}
}

func TestRatiosAreMediansOfTheRounds(t *testing.T) {
	results := func(us ...int) []load.Result {
		var out []load.Result
		for _, n := range us {
			d := time.Duration(n) * time.Microsecond
			out = append(out, load.Result{Elapsed: 2 * d, Latencies: []time.Duration{d, d}})
		}
		return out
	}
	r := row{setup{"plain", small, 1}, map[string][]load.Result{
		"forwarder": results(100, 1000, 100),
		"relay":     results(150, 1200, 900),
	}}
	got := newFigure(r, "relay")
	want := figure{setup: r.setup, Target: "relay", Calls: 6, P50: 900, P99: 1200, PerSecond: 1e6 / 900, RatioP50: 1.5, RatioP99: 1.5, RatioRate: 1 / 1.5}
	near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(figure{}), near); diff != "" {
		t.Errorf("figure (-want +got):\n%s", diff)
	}
}

func TestTheCostsOfDecisionsAreRead(t *testing.T) {
	got, err := readDecisions([]byte("goos: linux\nBenchmarkDecision/policies=10-2   100   31415 ns/op   926 B/op   53 allocs/op\nPASS\n"))
	if diff := cmp.Diff([]decision{{10, 31.415, 53}}, got); err != nil || diff != "" {
		t.Errorf("%v, decisions (-want +got):\n%s", err, diff)
	}
	for _, line := range []string{"=1-2", "=x-2 1 2 ns/op 3 B/op 4 allocs/op", "=1-2 1 x ns/op 3 B/op 4 allocs/op", "=1-2 1 2 ns/op 3 B/op x allocs/op"} {
		if _, err := readDecisions([]byte("BenchmarkDecision/policies" + line)); err == nil {
			t.Errorf("%q: want an error", line)
		}
	}
}

func TestQuantiles(t *testing.T) {
	var d []time.Duration
	for i := 100; i >= 1; i-- {
		d = append(d, time.Duration(i)*time.Microsecond)
	}
	for _, c := range []struct{ q, want float64 }{{0.5, 51}, {0.99, 100}, {0, 1}, {1, 100}} {
		if got := quantile(d, c.q); got != c.want {
			t.Errorf("quantile %v: got %v, want %v", c.q, got, c.want)
		}
	}
	if quantile(nil, 0.5) != 0 || median(nil) != 0 {
		t.Error("want 0 of nothing")
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("median: got %v, want 2.5", got)
	}
}

func TestTheTextNamesEveryTarget(t *testing.T) {
	rows := plan(false)
	for _, r := range rows {
		for _, target := range targets() {
			r.results[target] = []load.Result{{Elapsed: time.Second, Latencies: []time.Duration{time.Millisecond}}}
		}
	}
	var out bytes.Buffer
	r := newReport(options{rounds: 1}, rows, []allocs{{"relay", large, 12, 34}}, map[string]int{"tools/call": 7, "initialize": 2}, 5)
	r.Lists = listing{Servers: 8, Tools: 64, Calls: 9, P50: 123, P99: 456, Bytes: 200 << 10}
	r.Decisions = []decision{{Policies: 10, Micros: 314.2, Allocs: 77}}
	r.Cold = colds{Starts: []coldStart{{Function: "authorizer", Request: "service token", Starts: 40, Ready: span{12.34, 23.45}, First: span{56.78, 67.89}, Second: span{0.91, 1.23}, CPU: span{45.61, 49.91}}}, Binaries: []binary{{"reconcile", 1234567}}}
	if err := r.writeText(&out); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 8 {
		t.Errorf("got %d setups, want every transport with every payload and number of clients", len(rows))
	}
	for _, want := range append(targets(), "plain", "tls", "64 B", "256 KiB", "1000", "8 servers with 64 tools", "314.2", "77", "p50 123 us, p99 456 us of 9 lists", "200 KiB", "counted 7 calls", "2 other POSTs", "the 5 calls",
		"authorizer", "service token", " 40 ", "12.3", "23.4", "56.8", "67.9", "0.91", "1.23", "45.6", "49.9", "reconcile", "1234567") {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, out.String())
		}
	}
}

func TestArgumentsAreJSONOfTheirSize(t *testing.T) {
	for _, n := range []int{0, 1, small, large} {
		var got struct{ Text string }
		text := arguments(n)
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%d: %v", n, err)
		}
		if spare := len(text) - n; spare < 0 || spare > 64 {
			t.Errorf("%d bytes of text make %d bytes of arguments", n, len(text))
		}
	}
}

func TestTheConfigIsJSON(t *testing.T) {
	for _, credential := range []bool{true, false} {
		text := relayConfig(addresses{"http://127.0.0.1:1/mcp", "https://127.0.0.1:2/mcp"}, credential)
		if !json.Valid(text) {
			t.Errorf("credential %v: %s", credential, text)
		}
		if got := listConfig("http://127.0.0.1:1/mcp"); !json.Valid(got) {
			t.Errorf("of many servers: %s", got)
		}
		if got := strings.Contains(string(text), credentialEnv); got != credential {
			t.Errorf("credential %v: named %v", credential, got)
		}
	}
}

func TestAPartThatFailsIsNamedWithWhatItSaid(t *testing.T) {
	s := &stage{self: os.Args[0], env: os.Environ()}
	_, err := start(t.Context(), "forwarder", t.TempDir()+"/log", "{", s.part(t.Context(), "forwarder", "-roots", "missing.pem"))
	if err == nil || !strings.Contains(err.Error(), "forwarder did not start") || !strings.Contains(err.Error(), "missing.pem") {
		t.Errorf("got %v, want the part and its complaint", err)
	}
}
