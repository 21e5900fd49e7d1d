// Command relay is the function that answers agents behind API Gateway.
package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"mcprelay/shared/app"
	"mcprelay/shared/config"
	"mcprelay/shared/event"
	"mcprelay/shared/store/dynamo"
)

func main() {
	app.Collector()
	store, err := dynamo.Open(context.Background(), os.Getenv)
	if err != nil {
		log.Fatal("relay: ", err)
	}
	keys, err := store.SealKeys(context.Background(), os.Getenv("RELAY_SEAL_SECRET"))
	if err != nil {
		log.Fatal("relay: ", err)
	}
	relay, err := app.New(app.Options{
		Registry: app.NewStoredRegistry(store, config.Options{}, time.Now), Store: store, Log: os.Stdout,
		OwnHosts: app.Hosts(os.Getenv("RELAY_OWN_HOSTS")), SealKeys: keys,
	})
	if err != nil {
		log.Fatal("relay: ", err)
	}
	lambda.Start(event.Handler(relay.Handler(), event.Options{Log: relay.Log(), Refuse: relay.Refuse, Rest: relay.Rest}))
}
