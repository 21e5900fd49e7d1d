package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mcprelay/shared/app"
	"mcprelay/shared/call"
	"mcprelay/shared/policy"
	"mcprelay/shared/relay"
)

// candidates are policies that are asked without being in the config file.
type candidates struct {
	files []string
	only  bool
}

func (n *candidates) add(c *cobra.Command) {
	c.Flags().StringArrayVar(&n.files, "policy", nil, "a Rego `file` that is asked too, in the place of the policy of its name; several times")
	c.Flags().BoolVar(&n.only, "only", false, "ask none of the policies of the config file")
}

// put adds the candidates to a question. A file's name, without what follows its
// last dot, is the policy's.
func (n candidates) put(q *relay.Question) error {
	q.Only = q.Only || n.only
	for _, file := range n.files {
		source, err := readSmall(file, policy.MaxSource)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		q.Policies = append(q.Policies, relay.Candidate{Name: name, Source: string(source)})
	}
	return nil
}

// readSmall reads a file of at most some bytes.
func readSmall(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", path, most)
	}
	return text, err
}

func simulateCommand() *cobra.Command {
	var f flags
	var n candidates
	var q relay.Question
	var scopes []string
	var arguments string
	var asJSON bool
	command := &cobra.Command{
		Use:   "simulate --subject S --server X --tool T --config FILE",
		Short: "Say what a call would come to, without making it",
		Long: "Say what a call would come to: the decision, the rule, what the policies say and the whole document that they are\n" +
			"asked about. Nothing is sent, counted or recorded, and a refusal is an answer: the exit code is 0.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			q.Scopes = scopesOf(scopes, c.Flags().Changed("scopes"))
			if c.Flags().Changed("arguments") {
				q.Arguments = json.RawMessage(arguments)
			}
			if err := n.put(&q); err != nil {
				return err
			}
			return withRelay(c.Context(), f, func(l *localRelay) error {
				s, err := simulate(c.Context(), l, q)
				if err != nil {
					return err
				}
				return printSimulation(c.OutOrStdout(), s, asJSON)
			})
		},
	}
	f.add(command)
	n.add(command)
	command.Flags().StringVar(&q.Subject, "subject", "", "whose call it is")
	command.Flags().StringVar((*string)(&q.Kind), "kind", string(call.KindServiceToken), "the `kind` of caller: user, service_token, trusted_issuer or other")
	command.Flags().StringSliceVar(&scopes, "scopes", []string{string(call.ScopeCall)}, "the caller's `scopes`, with commas")
	command.Flags().StringVar(&q.Run, "run", "", "the run of the call")
	command.Flags().StringVar(&q.Server, "server", "", "the server that is called")
	command.Flags().StringVar(&q.Tool, "tool", "", "the tool, as it is offered")
	command.Flags().StringVar(&q.Resource, "resource", "", "or the resource, as the `URI` that the server has for it")
	command.Flags().StringVar(&q.Prompt, "prompt", "", "or the prompt, as the server names it")
	command.Flags().StringVar(&arguments, "arguments", "", "of the tool or prompt, as one `JSON` object")
	command.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return command
}

// scopesOf are the scopes that were given: none where the flag is empty.
func scopesOf(words []string, given bool) []call.Scope {
	if !given {
		return nil
	}
	scopes := []call.Scope{}
	for _, word := range words {
		scopes = append(scopes, call.Scope(word))
	}
	return scopes
}

// simulate asks the relay in this process.
func simulate(ctx context.Context, l *localRelay, q relay.Question) (relay.Simulation, error) {
	q.CallID, q.By = app.NewID(time.Now()), l.principal()
	s, refusal := l.app.Relay().Simulate(ctx, q)
	switch {
	case refusal == nil:
		return s, nil
	case refusal.Reason == call.BadParams:
		return s, &usageError{errors.New(refusal.Detail)}
	}
	return s, fmt.Errorf("%s: %w", refusal.Row().Sentence, refusal)
}

// printSimulation shows an answer to a person, or as one line of JSON.
func printSimulation(w io.Writer, s relay.Simulation, asJSON bool) error {
	if asJSON {
		line, err := json.Marshal(s)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(w, printableJSON(line))
		return err
	}
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	row := func(name string, values ...string) {
		for _, value := range values {
			if value != "" {
				fmt.Fprintf(table, "%s\t%s\n", name, plain(value))
			}
		}
	}
	row("decision", string(s.Decision))
	row("policy", string(s.Policy))
	row("reason", string(s.Reason))
	row("detail", s.Detail)
	row("rule", s.Rule)
	row("missing rule", s.Missing)
	row("enforced", s.Enforced...)
	row("audited", s.Audited...)
	row("effect", string(s.Effect))
	row("budget class", s.BudgetClass)
	row("turn required", strconv.FormatBool(s.TurnRequired))
	row("warning", s.Warnings...)
	row("input", printableJSON(s.Input))
	return table.Flush()
}
