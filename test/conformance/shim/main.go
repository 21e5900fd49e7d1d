// Command shim is the client that the conformance suite tests. Its last
// argument is the URL of the suite's server.
package main

import (
	"fmt"
	"os"

	"mcprelay/test/conformance/agent"
)

func main() {
	if err := agent.Run(os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, "shim:", err)
		os.Exit(1)
	}
}
