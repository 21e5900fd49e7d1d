// Command bench measures what the relay costs: direct calls, a bare forwarder
// and the relay, side by side in one run over loopback, plain and TLS; lists,
// decisions, and a function's first answer in a fresh process.
//
// It promises that load, forwarder, relay and upstream are processes of their
// own, that rounds are interleaved, and that the upstream's own counter agrees
// with the calls made. It refuses to print a number when it does not.
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
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
