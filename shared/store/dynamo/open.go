package dynamo

import (
	"context"
	"errors"
	"fmt"

	aws "github.com/aws/aws-sdk-go-v2/config"
)

var errEnvironment = errors.New("an AWS configuration with a region, RELAY_REGISTRY_TABLE, RELAY_STATE_TABLE and RELAY_AUDIT_TABLE must be set")

// Open makes the store of a function from its environment: the SDK's own
// variables, the names of the three tables, and RELAY_SECRET_PREFIX. It reaches
// nothing yet.
func Open(ctx context.Context, getenv func(string) string) (*Store, error) {
	sdk, err := aws.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the AWS configuration: %w", err)
	}
	c := Config{
		Registry: getenv("RELAY_REGISTRY_TABLE"), State: getenv("RELAY_STATE_TABLE"), Audit: getenv("RELAY_AUDIT_TABLE"),
		SecretPrefix: getenv("RELAY_SECRET_PREFIX"),
	}
	if sdk.Region == "" || c.Registry == "" || c.State == "" || c.Audit == "" {
		return nil, errEnvironment
	}
	c.DynamoDB, c.Secrets = Clients(sdk)
	return New(c), nil
}
