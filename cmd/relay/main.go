// Command relay is the operator's command: it serves a local relay, makes one
// call through the pipeline, reads the audit trail, approves changed tools and
// configures clients. It refuses a configuration that it does not understand whole.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes.
const (
	exitDone    = 0
	exitRefused = 1 // refused or failed, one sentence on stderr
	exitUsage   = 2
)

func main() { os.Exit(run(os.Args[1:])) }

// run executes the command until it ends or is interrupted, and gives its exit code.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	command := root()
	command.SetArgs(args)
	err := command.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	fmt.Fprintln(os.Stderr, "relay:", err)
	if usage := new(usageError); errors.As(err, &usage) {
		return exitUsage
	}
	return exitRefused
}
