// Command mutate changes packages in small ways, one at a time, and says which
// changes their own tests do not notice.
//
// It promises that the tree stays as it is, that every change is tried against
// the tests that reach it, and that the same seed picks the same changes. It
// refuses to judge a package whose tests fail without a change.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}
