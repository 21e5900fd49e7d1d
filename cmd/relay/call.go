package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"mcprelay/shared/app"
	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

func callCommand() *cobra.Command {
	var f flags
	command := &cobra.Command{
		Use:   "call SERVER TOOL JSON",
		Short: "Make one call through the pipeline: result on stdout, audit line on stderr",
		Args:  cobra.RangeArgs(2, 3),
		RunE: func(c *cobra.Command, args []string) error {
			arguments := "{}"
			if len(args) == 3 {
				arguments = args[2]
			}
			return callOnce(c.Context(), f, args[0], args[1], arguments)
		},
	}
	f.add(command)
	return command
}

// callOnce runs the same pipeline as serve, as the subject local. The
// canonical line goes to stderr by the log.
func callOnce(ctx context.Context, f flags, server, tool, arguments string) error {
	object := json.RawMessage(arguments)
	if refusal := wire.ReadObject(object); refusal != nil {
		return &usageError{fmt.Errorf("JSON: %w", refusal)}
	}
	return withRelay(ctx, f, func(l *localRelay) error { return callBy(ctx, l, server, tool, object) })
}

// callBy runs one tools/call on an open relay and prints its answer.
func callBy(ctx context.Context, l *localRelay, server, tool string, object json.RawMessage) error {
	now := time.Now()
	answer, refusal := l.app.Relay().Run(ctx, call.Call{
		ID: app.NewID(now), At: now, Principal: l.principal(), Face: call.FaceInternal,
		Operation: call.OperationToolsCall, Server: server, Tool: tool, Arguments: object,
	})
	defer answer.Settle()
	if refusal != nil {
		row := refusal.Shown()
		return fmt.Errorf("%s: %s (call %s): %w", row.Stage, row.Sentence, answer.CallID, refusal)
	}
	if answer.Error != nil {
		return fmt.Errorf("the server answered with an error (call %s): %s", answer.CallID, answer.Error)
	}
	fmt.Println(string(answer.Result))
	if failed, ok := wire.Member(answer.Result, "isError"); ok && string(json.RawMessage(failed)) == "true" {
		return fmt.Errorf("the tool reported an error (call %s)", answer.CallID)
	}
	return nil
}
