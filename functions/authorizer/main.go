// Command authorizer is the edge check of API Gateway: it turns away requests
// whose credential is refused before they reach the relay. It is an option of
// the template; the relay checks every credential by itself.
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
		log.Fatal("authorizer: ", err)
	}
	keys, err := store.SealKeys(context.Background(), os.Getenv("RELAY_SEAL_SECRET"))
	if err != nil {
		log.Fatal("authorizer: ", err)
	}
	registry := app.NewStoredRegistry(store, config.Options{}, time.Now)
	authenticate, err := app.Authenticator(app.Options{
		Store: store, Issuers: app.StoredIssuers(store, registry), SealKeys: keys, PublicURL: os.Getenv("RELAY_PUBLIC_URL"),
		OwnHosts: app.Hosts(os.Getenv("RELAY_OWN_HOSTS")),
	})
	if err != nil {
		log.Fatal("authorizer: ", err)
	}
	lambda.Start(event.Authorizer(authenticate.Authenticate))
}
