// Command relay is the function that answers agents behind API Gateway.
package main

import (
	"context"
	"log"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	aws "github.com/aws/aws-sdk-go-v2/config"

	"mcprelay/shared/app"
	"mcprelay/shared/config"
	"mcprelay/shared/event"
	"mcprelay/shared/store/dynamo"
)

func main() {
	app.Collector()
	tables := dynamo.Config{Registry: os.Getenv("RELAY_REGISTRY_TABLE"), State: os.Getenv("RELAY_STATE_TABLE"), Audit: os.Getenv("RELAY_AUDIT_TABLE"), SecretPrefix: os.Getenv("RELAY_SECRET_PREFIX")}
	sdk, err := aws.LoadDefaultConfig(context.Background())
	if err != nil || sdk.Region == "" || tables.Registry == "" || tables.State == "" || tables.Audit == "" {
		log.Fatal("relay: an AWS configuration with a region, RELAY_REGISTRY_TABLE, RELAY_STATE_TABLE and RELAY_AUDIT_TABLE must be set")
	}
	tables.DynamoDB, tables.Secrets = dynamo.Clients(sdk)
	store := dynamo.New(tables)
	relay, err := app.New(app.Options{
		Registry: app.NewStoredRegistry(store, config.Options{}, time.Now),
		Store:    store, Log: os.Stdout,
		OwnHosts: strings.FieldsFunc(os.Getenv("RELAY_OWN_HOSTS"), func(c rune) bool { return c == ',' || c == ' ' }),
	})
	if err != nil {
		log.Fatal("relay: ", err)
	}
	lambda.Start(event.Handler(relay.Handler(), event.Options{Log: relay.Log(), Refuse: relay.Refuse}))
}
