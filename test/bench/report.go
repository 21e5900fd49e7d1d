package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"mcprelay/test/bench/load"
)

// report is what a run came to. Ratios are to the bare forwarder in the same
// setup: the median over the rounds of the ratio within a round, for the
// targets of a round run close together and a busy moment hits them alike.
type report struct {
	Go        string         `json:"go"`
	System    string         `json:"system"`
	CPUs      int            `json:"cpus"`
	Rounds    int            `json:"rounds"`
	Figures   []figure       `json:"figures"`
	Allocs    []allocs       `json:"allocations"`
	Lists     listing        `json:"lists"`
	Decisions []decision     `json:"decisions"`
	Cold      colds          `json:"cold"`
	Posts     map[string]int `json:"posts"` // as the upstream counts them
	Records   int            `json:"audit_records"`
}

// figure is one target in one setup, over all rounds.
type figure struct {
	setup
	Target    string  `json:"target"`
	Calls     int     `json:"calls"`
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
	PerSecond float64 `json:"calls_per_second"`
	RatioP50  float64 `json:"ratio_p50"`
	RatioP99  float64 `json:"ratio_p99"`
	RatioRate float64 `json:"ratio_calls_per_second"`
}

func newReport(o options, rows []row, a []allocs, posts map[string]int, records int) report {
	r := report{Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
		Rounds: o.rounds, Allocs: a, Posts: posts, Records: records}
	for _, row := range rows {
		for _, target := range targets() {
			r.Figures = append(r.Figures, newFigure(row, target))
		}
	}
	return r
}

func newFigure(r row, target string) figure {
	f := figure{setup: r.setup, Target: target}
	var all []time.Duration
	var rates, p50s, p99s, relative []float64
	for i, result := range r.results[target] {
		base := r.results["forwarder"][i]
		all = append(all, result.Latencies...)
		rates = append(rates, rate(result))
		p50s = append(p50s, quantile(result.Latencies, 0.50)/quantile(base.Latencies, 0.50))
		p99s = append(p99s, quantile(result.Latencies, 0.99)/quantile(base.Latencies, 0.99))
		relative = append(relative, rate(result)/rate(base))
	}
	f.Calls = len(all)
	f.P50, f.P99 = quantile(all, 0.50), quantile(all, 0.99)
	f.PerSecond = median(rates)
	f.RatioP50, f.RatioP99, f.RatioRate = median(p50s), median(p99s), median(relative)
	return f
}

// rate is the counted calls a second.
func rate(r load.Result) float64 { return float64(len(r.Latencies)) / r.Elapsed.Seconds() }

// quantile is in microseconds; 0 of nothing.
func quantile(d []time.Duration, q float64) float64 {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	return float64(sorted[min(int(q*float64(len(sorted))), len(sorted)-1)].Nanoseconds()) / 1000
}

// median is the middle value, or the mean of the two in the middle.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

func (r report) writeJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", " ")
	return encoder.Encode(r)
}

func (r report) writeText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(out, "%s, %s, %d CPUs, %d interleaved rounds over loopback; \"x\" is the ratio to the bare forwarder (median of the rounds)\n\n", r.Go, r.System, r.CPUs, r.Rounds)
	fmt.Fprint(w, "upstream\ttext\tclients\ttarget\tcalls\tp50 us\tx\tp99 us\tx\tcalls/s\tx\t\n")
	last := setup{}
	for _, f := range r.Figures {
		if last != (setup{}) && last != f.setup {
			fmt.Fprint(w, "\t\t\t\t\t\t\t\t\t\t\t\n")
		}
		last = f.setup
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%d\t%.0f\t%.2f\t%.0f\t%.2f\t%.0f\t%.2f\t\n",
			f.Transport, size(f.Size), f.Clients, f.Target, f.Calls, f.P50, f.RatioP50, f.P99, f.RatioP99, f.PerSecond, f.RatioRate)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprint(out, "\nmemory allocated by the handler for one call, all goroutines (difference of runtime.MemStats)\n")
	fmt.Fprint(w, "text\ttarget\tallocations\tbytes\t\n")
	for _, a := range r.Allocs {
		fmt.Fprintf(w, "%s\t%s\t%.0f\t%.0f\t\n", size(a.Size), a.Target, a.Count, a.Bytes)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\ntools/list over %d servers with %d tools each, kept and fresh: p50 %.0f us, p99 %.0f us of %d lists, a reply of %s, no request upstream\n",
		r.Lists.Servers, r.Lists.Tools, r.Lists.P50, r.Lists.P99, r.Lists.Calls, size(r.Lists.Bytes))
	fmt.Fprint(out, "\none decision, by rules alone and with policies of twenty lines\n")
	fmt.Fprint(w, "policies\tus\tallocations\t\n")
	for _, d := range r.Decisions {
		fmt.Fprintf(w, "%d\t%.1f\t%d\t\n", d.Policies, d.Micros, d.Allocs)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := r.Cold.writeText(out); err != nil {
		return err
	}
	others := 0
	for method, n := range r.Posts {
		if method != "tools/call" {
			others += n
		}
	}
	_, err := fmt.Fprintf(out, "\nthe upstream counted %d calls, as many as were made, and %d other POSTs; the audit trail holds the %d calls of the relay\n", r.Posts["tools/call"], others, r.Records)
	return err
}

// size is a number of bytes as people say it.
func size(n int) string {
	if n >= 1<<10 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
