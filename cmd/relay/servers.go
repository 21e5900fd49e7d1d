package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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

func approveCommand() *cobra.Command {
	var f flags
	command := &cobra.Command{
		Use:   "approve SERVER [TOOL...] --config FILE",
		Short: "Approve tools as they are described now, all held back ones where none is named",
		Long: "Approve tools as they were described when they were last read, all that are held back where none is named.\n" +
			"A tool is named as its server does. A relay that runs over the same folder follows within 15 seconds.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return withRelay(c.Context(), f, func(l *localRelay) error { return approve(c.Context(), l, c.OutOrStdout(), args) })
		},
	}
	f.add(command)
	return command
}

// withRelay runs something over the local store.
func withRelay(ctx context.Context, f flags, do func(*localRelay) error) (err error) {
	c, err := loadConfig(f)
	if err != nil {
		return err
	}
	l, err := openLocal(f, c, localOptions{log: os.Stderr})
	if err != nil {
		return err
	}
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeBudget)
		defer cancel()
		err = errors.Join(err, l.Close(bounded))
	}()
	return do(l)
}

func approve(ctx context.Context, l *localRelay, out io.Writer, args []string) error {
	changed, err := l.app.Relay().Approve(ctx, l.config.Tenant.ID, args[0], args[1:]...)
	if refusal := new(call.Refusal); errors.As(err, &refusal) {
		return fmt.Errorf("%s: %w", refusal.Row().Sentence, refusal)
	}
	if err != nil {
		return fmt.Errorf("approving tools of %s: %w", args[0], err)
	}
	for _, tool := range changed {
		fmt.Fprintf(out, "relay: %s of %s is approved\n", plain(tool), args[0])
	}
	if len(changed) == 0 {
		fmt.Fprintf(out, "relay: no tool of %s waits for approval\n", args[0])
	}
	return nil
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
	Acquired  time.Time  `json:"acquired,omitzero"`
}

// heldTool is a tool whose description nobody approved.
type heldTool struct {
	Tool string `json:"tool"`
	Why  string `json:"why"`
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
		for _, held := range view.Held() {
			s.Held = append(s.Held, heldTool(held))
		}
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
		encoder := json.NewEncoder(w)
		for _, s := range all {
			if err := encoder.Encode(s); err != nil {
				return err
			}
		}
		return nil
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
		for _, held := range s.Held {
			fmt.Fprintf(w, "%s: tool %s is %s: relay servers approve %s %s\n", s.Server, plain(held.Tool), held.Why, s.Server, plain(held.Tool))
		}
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
