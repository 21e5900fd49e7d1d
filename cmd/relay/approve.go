package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"mcprelay/shared/app"
	"mcprelay/shared/call"
	"mcprelay/shared/relay"
)

func approveCommand() *cobra.Command {
	var f flags
	command := &cobra.Command{
		Use:   "approve SERVER [TOOL[@DIGEST]... | @DIGEST] --config FILE",
		Short: "Approve tools as they are described now, all held back ones where none is named",
		Long: "Approve tools as they were described when they were last read, all that are held back where none is named.\n" +
			"A tool is named as its server does. With the DIGEST that `relay servers status` shows, at least 8 digits of it,\n" +
			"nothing is approved where the description is another one by now; @DIGEST alone is that of all the server's tools.\n" +
			"Each approval leaves an audit record. A relay that runs over the same folder follows within 15 seconds.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return withRelay(c.Context(), f, func(l *localRelay) error { return approve(c.Context(), l, c.OutOrStdout(), args) })
		},
	}
	f.add(command)
	return command
}

func approve(ctx context.Context, l *localRelay, out io.Writer, args []string) error {
	server, now := args[0], time.Now()
	approvals, err := l.app.Relay().Approve(ctx, call.Call{
		ID: app.NewID(now), At: now, Principal: l.principal(), Face: call.FaceInternal, Server: server,
	}, args[1:]...)
	if stale := new(relay.Stale); errors.As(err, &stale) {
		return stale
	}
	if refusal := new(call.Refusal); errors.As(err, &refusal) {
		return fmt.Errorf("%s: %w", refusal.Row().Sentence, refusal)
	}
	if err != nil {
		return fmt.Errorf("approving tools of %s: %w", server, err)
	}
	unbound := 0
	for _, a := range approvals {
		fmt.Fprintf(out, "relay: %s of %s is approved with digest %s\n", plain(a.Tool), server, short(a.Digest))
		if !a.Bound {
			unbound++
		}
	}
	switch {
	case len(approvals) == 0:
		fmt.Fprintf(out, "relay: no tool of %s waits for approval\n", server)
	case unbound > 0:
		fmt.Fprintf(out, "relay: warning: %d approved as last read, since no digest said which description was meant\n", unbound)
	}
	return nil
}
