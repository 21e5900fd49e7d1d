package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"mcprelay/shared/app"
	"mcprelay/shared/call"
	"mcprelay/shared/config"
	"mcprelay/shared/store/dynamo"
)

// patience is how long an emulator may take: it answers many at once on a
// busy machine, so the bounds for AWS itself do not fit it.
const patience = 30 * time.Second

// options are the command's flags.
type options struct{ config, url, prefix string }

// call makes the call and gives its result.
func (o options) call(ctx context.Context, server, tool, arguments string) (json.RawMessage, error) {
	c, err := config.Load(o.config, config.Options{Loopback: true})
	if err != nil {
		return nil, err
	}
	a, err := app.New(app.Options{
		Registry: app.FileRegistry{Registration: c.Tenant}, Store: o.store(), Loopback: true, Log: os.Stderr,
	})
	if err != nil {
		return nil, err
	}
	now := time.Now()
	answer, refusal := a.Relay().Run(ctx, call.Call{
		ID: app.NewID(now), At: now, Face: call.FaceInternal, Operation: call.OperationToolsCall,
		Principal: call.Principal{Tenant: c.Tenant.ID, Subject: "local", Kind: call.KindUser, Scopes: []call.Scope{call.ScopeCall}},
		Server:    server, Tool: tool, Arguments: json.RawMessage(arguments),
	})
	answer.Settle()
	switch {
	case refusal != nil:
		return nil, fmt.Errorf("the call was refused: %w", refusal)
	case answer.Error != nil:
		return nil, fmt.Errorf("the server answered with an error: %s", answer.Error)
	}
	return answer.Result, a.Close(ctx)
}

// store is DynamoDB at a URL of the test's.
func (o options) store() *dynamo.Store {
	db, sm := dynamo.Clients(aws.Config{
		Region: "us-east-1", BaseEndpoint: &o.url, HTTPClient: &http.Client{Timeout: patience},
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
	return dynamo.New(dynamo.Config{
		DynamoDB: db, Secrets: sm,
		Registry: o.prefix + dynamo.Registry, State: o.prefix + dynamo.State, Audit: o.prefix + dynamo.Audit,
	})
}
