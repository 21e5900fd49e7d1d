// Command opener makes one call through the relay over DynamoDB, in a process
// of its own, as `relay call` does over SQLite. The result goes to stdout.
//
// It promises the wiring of functions/relay. What differs is that the
// registration comes from a file and that the upstream may be on loopback.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	var o options
	flag.StringVar(&o.config, "config", "", "the config file")
	flag.StringVar(&o.url, "dynamodb", "", "base URL of DynamoDB")
	flag.StringVar(&o.prefix, "prefix", "", "what the names of the tables begin with")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	result, err := o.call(ctx, flag.Arg(0), flag.Arg(1), flag.Arg(2))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(string(result))
}
