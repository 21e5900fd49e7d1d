// Command streamer is a function whose replies are slow on purpose: the test
// decides, by answering at the URL in GATE, when it goes on.
package main

import (
	"fmt"
	"net/http"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"mcprelay/shared/event"
)

func main() {
	if os.Getenv("GATE") == "" {
		fmt.Fprintln(os.Stderr, "streamer: GATE must be set")
		os.Exit(1)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/slow", slow)
	mux.HandleFunc("/panic", func(w http.ResponseWriter, _ *http.Request) { first(w); panic("a secret") })
	mux.HandleFunc("/until-gone", untilGone)
	mux.HandleFunc("/deadline", deadline)
	mux.HandleFunc("/hang", func(w http.ResponseWriter, _ *http.Request) { first(w); pass("hang") })
	mux.HandleFunc("/echo", echo)
	lambda.Start(event.Handler(mux, event.Options{}))
}
