package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What is overlooked is known: equal weights, a weight of nothing (which changes
// no sum), and a function that no test calls.
func TestWhatTestsOverlookIsListed(t *testing.T) {
	var out bytes.Buffer
	err := run(t.Context(), []string{"-least", "80", "testdata/scales"}, &out)
	want := `testdata/scales/scales.go:6: survived: > for >=: a > b
testdata/scales/scales.go:13: survived: < for <=: w < 0
testdata/scales/scales.go:22: unreached: zero: return 1
5 of 8 mutants noticed, 62.5 % (0 by the clock), 0 not tried
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if err == nil || !strings.Contains(err.Error(), "62.5 %") {
		t.Errorf("got %v, want that this is too little", err)
	}
}

// A sample of what "make mutate" tries whole: the same one until the code
// changes, with some room for what cannot be noticed.
func TestASampleOfMutantsIsNoticed(t *testing.T) {
	var out bytes.Buffer
	err := run(t.Context(), []string{"-n", "30", "-seed", "20", "-least", "80", "../../shared/policy", "../../shared/auth", "../../shared/token"}, &out)
	if err != nil || !strings.Contains(out.String(), " of 30 mutants") || !strings.Contains(out.String(), " 0 not tried") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestTheSeedPicksTheMutants(t *testing.T) {
	var all []mutant
	for i := range 100 {
		all = append(all, mutant{id: i})
	}
	first, again, other := fmt.Sprint(pick(all, options{n: 9, seed: 1})), fmt.Sprint(pick(all, options{n: 9, seed: 1})), fmt.Sprint(pick(all, options{n: 9, seed: 2}))
	if first != again || first == other {
		t.Errorf("got %s and %s for one seed, %s for another", first, again, other)
	}
	if len(pick(all, options{})) != len(all) || len(pick(all, options{n: 200})) != len(all) {
		t.Error("want all where none or more are asked for")
	}
}

func TestAfterTheLimitNothingIsTried(t *testing.T) {
	if _, err := try(t.Context(), options{limit: time.Nanosecond, workers: 1}, []string{"testdata/scales"}); err == nil {
		t.Error("want an error of the build")
	}
	if got := (&trial{}).judge(ended(t), 1); got != untried {
		t.Errorf("got %s, want %s", got, untried)
	}
}

// ended is a context whose time is over.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"-n", "-1", "x"}, {"-workers", "0", "x"}, {"-nonsense"}, {"testdata/missing"}} {
		if err := run(t.Context(), args, &bytes.Buffer{}); err == nil {
			t.Errorf("%q: want an error", args)
		}
	}
}

func TestEditsWithinEditsAreMadeFirst(t *testing.T) {
	around := func(mark string) func(string) string {
		return func(inner string) string { return mark + "(" + inner + ")" }
	}
	got := weave([]byte("ab cd ef"), []edit{{3, 5, around("y")}, {0, 5, around("x")}, {6, 8, around("z")}, {6, 8, around("w")}})
	if want := "x(ab y(cd)) z(w(ef))"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
