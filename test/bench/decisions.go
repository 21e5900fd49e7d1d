package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// decision is what deciding about one call costs, with so many policies of
// twenty lines beside the rules.
type decision struct {
	Policies int     `json:"policies"`
	Micros   float64 `json:"us"`
	Allocs   int     `json:"allocations"`
}

const (
	decisionTime      = "1s"
	quickDecisionTime = "10x"
)

// decisions runs the benchmark of decisions, in a process of its own.
func decisions(ctx context.Context, o options) ([]decision, error) {
	span := decisionTime
	if o.quick {
		span = quickDecisionTime
	}
	out, err := output(exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkDecision$", "-benchtime", span, "mcprelay/test/policies"))
	if err != nil {
		return nil, fmt.Errorf("measuring decisions: %w", err)
	}
	rows, err := readDecisions(out)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("the benchmark of decisions printed nothing")
	}
	return rows, err
}

// readDecisions reads lines such as
// "BenchmarkDecision/policies=1-2  100  31415 ns/op  926 B/op  53 allocs/op".
func readDecisions(out []byte) ([]decision, error) {
	var rows []decision
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		name, ok := strings.CutPrefix(lines.Text(), "BenchmarkDecision/policies=")
		if !ok {
			continue
		}
		words := strings.Fields(name)
		if len(words) != 8 {
			return nil, fmt.Errorf("reading a decision's cost: %q", lines.Text())
		}
		number, _, _ := strings.Cut(words[0], "-")
		policies, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("reading the number of policies: %w", err)
		}
		nanos, err := strconv.ParseFloat(words[2], 64)
		if err != nil {
			return nil, fmt.Errorf("reading a decision's time: %w", err)
		}
		allocs, err := strconv.Atoi(words[6])
		if err != nil {
			return nil, fmt.Errorf("reading a decision's allocations: %w", err)
		}
		rows = append(rows, decision{Policies: policies, Micros: nanos / 1000, Allocs: allocs})
	}
	return rows, lines.Err()
}
