package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mcprelay/shared/app"
	"mcprelay/shared/call"
	"mcprelay/shared/relay"
)

func serversCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "servers",
		Short: "See how the servers are, and approve changed tools",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	command.AddCommand(statusCommand(), approveCommand())
	return command
}

func statusCommand() *cobra.Command {
	var f flags
	var asJSON bool
	command := &cobra.Command{
		Use:   "status --config FILE",
		Short: "List the servers with what was last found there; read those of which nothing is kept",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return withRelay(c.Context(), f, func(l *localRelay) error { return printStatus(c.Context(), l, c.OutOrStdout(), asJSON) })
		},
	}
	f.add(command)
	command.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return command
}

// status is one server as the operator sees it.
type status struct {
	Server    string     `json:"server"`
	Status    string     `json:"status"` // ok, failed, unread, or unusable before anything is sent
	Stage     call.Stage `json:"stage,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	Detail    string     `json:"detail,omitempty"`
	Tools     int        `json:"tools"`
	Resources int        `json:"resources"`
	Templates int        `json:"resource_templates"`
	Prompts   int        `json:"prompts"`
	Held      []heldTool `json:"held,omitempty"`
	Digest    string     `json:"tools_digest,omitempty"` // of all its tools, as approve takes it
	Acquired  time.Time  `json:"acquired,omitzero"`
}

// statuses asks how every registered server is.
func statuses(ctx context.Context, l *localRelay) ([]status, error) {
	ready, err := l.app.Relay().Ready(ctx, l.config.Tenant.ID)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	views, refusal := l.app.Relay().Views(ctx, call.Call{
		ID: app.NewID(now), At: now, Principal: l.principal(), Face: call.FaceInternal, Operation: call.OperationDiscover,
	})
	if refusal != nil {
		return nil, refusal
	}
	seen := make(map[string]relay.View, len(views))
	for _, view := range views {
		seen[view.Server] = view
	}
	all := make([]status, len(ready))
	for i, r := range ready {
		view, reachable := seen[r.Server]
		all[i] = statusOf(r, view, reachable)
	}
	return all, nil
}

func statusOf(r relay.Status, view relay.View, reachable bool) status {
	s := status{Server: r.Server, Status: "ok"}
	if reachable {
		s.Tools, s.Resources, s.Templates, s.Prompts = len(view.Tools()), len(view.Resources()), len(view.Templates()), len(view.Prompts())
		s.Held, s.Digest = heldOf(view), view.Catalog.ToolsDigest()
		if s.Acquired = view.Catalog.Acquired.UTC(); !view.Known() {
			s.Status = "unread"
		}
		s.fail("failed", view.Failure)
	}
	s.fail("unusable", r.Refusal)
	return s
}

func (s *status) fail(word string, refusal *call.Refusal) {
	if refusal != nil {
		row := refusal.Row()
		s.Status, s.Stage, s.Reason, s.Detail = word, row.Stage, string(row.Reason), refusal.Detail
	}
}

func printStatus(ctx context.Context, l *localRelay, w io.Writer, asJSON bool) error {
	all, err := statuses(ctx, l)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(w, all)
	}
	out := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(out, "SERVER\tSTATUS\tTOOLS\tRESOURCES\tTEMPLATES\tPROMPTS\tHELD\tACQUIRED\tWHY")
	for _, s := range all {
		fmt.Fprintf(out, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", s.Server, s.Status, s.Tools, s.Resources, s.Templates, s.Prompts, len(s.Held), s.since(), s.why())
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for _, s := range all {
		printHeld(w, s)
	}
	return nil
}

func (s status) since() string {
	if s.Acquired.IsZero() {
		return "-"
	}
	return s.Acquired.Format(time.RFC3339)
}

func (s status) why() string {
	if s.Reason == "" {
		return "-"
	}
	return fmt.Sprintf("%s: %s: %s", s.Stage, s.Reason, plain(s.Detail))
}
