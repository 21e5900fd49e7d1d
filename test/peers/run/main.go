// Command run starts every peer once, runs a command that shares them by its
// environment, and ends them with it.
//
//	go run ./test/peers/run -- go test ./...
//
// Its exit status is the command's, 1 where a peer could not be started and 2
// where there is no command.
package main

import (
	"fmt"
	"os"

	"mcprelay/test/peers"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: run [--] command [argument ...]")
		os.Exit(2)
	}
	os.Exit(peers.Run(args))
}
