// Command reconcile closes, on a schedule, the upstream sessions whose time is
// over. Each leaves an audit record.
package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"mcprelay/shared/app"
	"mcprelay/shared/config"
	"mcprelay/shared/relay"
	"mcprelay/shared/store/dynamo"
)

func main() {
	store, err := dynamo.Open(context.Background(), os.Getenv)
	if err != nil {
		log.Fatal("reconcile: ", err)
	}
	sessions, err := app.New(app.Options{
		Registry: app.NewStoredRegistry(store, config.Options{}, time.Now), Store: store, Log: os.Stdout,
		OwnHosts: app.Hosts(os.Getenv("RELAY_OWN_HOSTS")),
	})
	if err != nil {
		log.Fatal("reconcile: ", err)
	}
	lambda.Start(func(ctx context.Context) (relay.Closed, error) { return sessions.Relay().CloseExpired(ctx) })
}
