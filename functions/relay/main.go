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
	registry := app.NewStoredRegistry(store, config.Options{}, time.Now)
	relay, err := app.New(app.Options{
		Registry: registry, Store: store, Log: os.Stdout, Issuers: app.StoredIssuers(store, registry),
		OwnHosts: app.Hosts(os.Getenv("RELAY_OWN_HOSTS")), SealKeys: keys, PublicURL: os.Getenv("RELAY_PUBLIC_URL"),
		AuthorizationServers: app.Hosts(os.Getenv("RELAY_AUTHORIZATION_SERVERS")),
	})
	if err != nil {
		log.Fatal("relay: ", err)
	}
	lambda.Start(event.Handler(relay.Handler(), event.Options{Log: relay.Log(), Refuse: relay.Refuse, Rest: relay.Rest}))
}
