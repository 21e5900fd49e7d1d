package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mcprelay/shared/config"
	"mcprelay/shared/registry"
)

func policiesCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "policies",
		Short: "List the Rego policies of a config file, and test what its rules and policies decide",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	command.AddCommand(policyListCommand(), policyTestCommand())
	return command
}

func policyListCommand() *cobra.Command {
	var f flags
	var asJSON bool
	command := &cobra.Command{
		Use:   "list --config FILE",
		Short: "List the policies, all of which were compiled, and what is doubtful about them",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			loaded, err := loadConfig(f)
			if err != nil {
				return err
			}
			return printPolicies(c.OutOrStdout(), loaded, asJSON)
		},
	}
	f.add(command)
	command.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return command
}

// policyLine is a policy as an operator sees it.
type policyLine struct {
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"`
	Mode    string `json:"mode"`
	Lines   int    `json:"lines"`
	Bytes   int    `json:"bytes"`
}

func lineOf(p registry.Policy) policyLine {
	lines := strings.Count(strings.TrimSuffix(p.Source, "\n"), "\n") + 1
	return policyLine{Name: p.Name, Enabled: p.Enabled, Mode: p.Mode, Lines: lines, Bytes: len(p.Source)}
}

func printPolicies(w io.Writer, c *config.Config, asJSON bool) error {
	encoder, table := json.NewEncoder(w), tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(table, "NAME\tENABLED\tMODE\tLINES\tBYTES")
	}
	for _, p := range c.Tenant.Policies {
		line := lineOf(p)
		if asJSON {
			if err := encoder.Encode(line); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(table, "%s\t%t\t%s\t%d\t%d\n", line.Name, line.Enabled, line.Mode, line.Lines, line.Bytes)
	}
	if err := table.Flush(); err != nil || asJSON {
		return err
	}
	for _, warning := range c.Warnings {
		if strings.Contains(warning, ": policies[") {
			fmt.Fprintf(w, "warning: %s\n", plain(warning))
		}
	}
	return nil
}
