package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mcprelay/shared/call"
	"mcprelay/shared/relay"
	"mcprelay/shared/wire"
)

const (
	// maxCases bounds a file of cases, which are asked one after another.
	maxCases = 10_000
	// maxCaseFile bounds it in bytes: what is read of any JSON text at once.
	maxCaseFile = wire.MaxBody
)

// policyCase is one row of a file of cases: a question, and what is expected of
// its answer.
type policyCase struct {
	Name     string          `json:"name"`
	Question json.RawMessage `json:"question"`
	Want     json.RawMessage `json:"want"`

	question relay.Question
	want     expected
}

// expected is what an answer must be. What is left out may be anything.
type expected struct {
	Decision     call.Verdict        `json:"decision"`
	Policy       *call.PolicyVerdict `json:"policy"`
	Reason       *call.Reason        `json:"reason"`
	Rule         *string             `json:"rule"`
	Missing      *string             `json:"missing_rule"`
	Enforced     []string            `json:"enforced"` // in any order
	Audited      []string            `json:"audited"`
	TurnRequired *bool               `json:"turn_required"`
}

func policyTestCommand() *cobra.Command {
	var f flags
	var n candidates
	command := &cobra.Command{
		Use:   "test CASES.json --config FILE",
		Short: "Compare what calls would come to with what is expected",
		Long: "Compare what calls would come to with what a file of cases expects: {\"cases\": [{\"name\", \"question\", \"want\"}]}.\n" +
			"A question is what POST /v1/admin/simulate takes. Where an answer differs, the differences are a table and the exit code is 1.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			cases, err := readCases(args[0], n)
			if err != nil {
				return err
			}
			return withRelay(c.Context(), f, func(l *localRelay) error { return testCases(c.Context(), l, c.OutOrStdout(), cases) })
		},
	}
	f.add(command)
	n.add(command)
	return command
}

// readCases reads a file of cases as strictly as the surface reads a question.
func readCases(path string, n candidates) ([]policyCase, error) {
	text, err := readSmall(path, maxCaseFile)
	if err != nil {
		return nil, err
	}
	var file struct {
		Cases []json.RawMessage `json:"cases"`
	}
	if refusal := relay.Strictly(text, &file, "cases"); refusal != nil {
		return nil, &usageError{fmt.Errorf("%s: %w", path, refusal)}
	}
	if len(file.Cases) == 0 || len(file.Cases) > maxCases {
		return nil, &usageError{fmt.Errorf("%s: it has %d cases, want 1 to %d", path, len(file.Cases), maxCases)}
	}
	cases := make([]policyCase, len(file.Cases))
	for i, raw := range file.Cases {
		if cases[i], err = readCase(raw, n); err != nil {
			return nil, &usageError{fmt.Errorf("%s: cases[%d]: %w", path, i, err)}
		}
	}
	return cases, nil
}

func readCase(raw json.RawMessage, n candidates) (c policyCase, err error) {
	if refusal := relay.Strictly(raw, &c, "name", "question", "want"); refusal != nil {
		return c, refusal
	}
	question, refusal := relay.ReadQuestion(c.Question)
	if refusal != nil {
		return c, fmt.Errorf("question: %w", refusal)
	}
	c.question = question
	if refusal := relay.Strictly(c.Want, &c.want, "decision", "policy", "reason", "rule", "missing_rule", "enforced", "audited", "turn_required"); refusal != nil {
		return c, fmt.Errorf("want: %w", refusal)
	}
	if c.want.Decision != call.Allow && c.want.Decision != call.Deny && c.want.Decision != call.Error {
		return c, errors.New("want.decision is not allow, deny or error")
	}
	return c, n.put(&c.question)
}

// difference is one member of an answer that is not as expected.
type difference struct{ member, want, got string }

// testCases asks every question. It fails where an answer is not as expected.
func testCases(ctx context.Context, l *localRelay, w io.Writer, cases []policyCase) error {
	table, failed := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0), 0
	for i, c := range cases {
		s, err := simulate(ctx, l, c.question)
		if err != nil {
			return fmt.Errorf("cases[%d]: %w", i, err)
		}
		differences := c.want.differ(s)
		if len(differences) == 0 {
			continue
		}
		if failed++; failed == 1 {
			fmt.Fprintln(table, "CASE\tMEMBER\tWANT\tGOT")
		}
		for _, d := range differences {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", plain(cmp.Or(c.Name, strconv.Itoa(i))), d.member, plain(d.want), plain(d.got))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d cases differ", failed, len(cases))
	}
	fmt.Fprintf(w, "relay: %d cases, all as expected\n", len(cases))
	return nil
}

// differ lists what of an answer is not as expected.
func (e expected) differ(s relay.Simulation) (all []difference) {
	note := func(member, want, got string) {
		if want != got {
			all = append(all, difference{member, cmp.Or(want, "-"), cmp.Or(got, "-")})
		}
	}
	note("decision", string(e.Decision), string(s.Decision))
	if e.Policy != nil {
		note("policy", string(*e.Policy), string(s.Policy))
	}
	if e.Reason != nil {
		note("reason", string(*e.Reason), string(s.Reason))
	}
	if e.Rule != nil {
		note("rule", *e.Rule, s.Rule)
	}
	if e.Missing != nil {
		note("missing_rule", *e.Missing, s.Missing)
	}
	if e.Enforced != nil {
		note("enforced", listed(e.Enforced), listed(s.Enforced))
	}
	if e.Audited != nil {
		note("audited", listed(e.Audited), listed(s.Audited))
	}
	if e.TurnRequired != nil {
		note("turn_required", strconv.FormatBool(*e.TurnRequired), strconv.FormatBool(s.TurnRequired))
	}
	return all
}

// listed shows messages so that no two lists of different ones look the same.
func listed(messages []string) string {
	if len(messages) == 0 {
		return ""
	}
	return fmt.Sprintf("%q", slices.Sorted(slices.Values(messages)))
}
