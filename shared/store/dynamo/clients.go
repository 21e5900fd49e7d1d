package dynamo

import (
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

// The bounds of a request to AWS. Three attempts with their pauses fit into
// the 3 s that the relay gives one write of a record.
const (
	attempts       = 3
	attemptTimeout = 900 * time.Millisecond
	// maxBackoff caps the SDK's pause, which otherwise grows to 20 s.
	maxBackoff = 100 * time.Millisecond
	// idleTimeout is less than what AWS keeps an idle connection for: the SDK's
	// 90 s is more, and a thawed process then writes into closed connections.
	idleTimeout = 20 * time.Second
	// idleConnections is one for each call that a process may have under way.
	idleConnections = 64
)

// Clients makes the two clients with bounded attempts, retries and idle times.
// A configuration with an HTTP client of its own keeps it.
func Clients(c aws.Config) (*dynamodb.Client, *secretsmanager.Client) {
	switch client := c.HTTPClient.(type) {
	case nil:
		c.HTTPClient = bounded(awshttp.NewBuildableClient())
	case *awshttp.BuildableClient:
		c.HTTPClient = bounded(client)
	}
	c.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts, o.MaxBackoff = attempts, maxBackoff
		})
	}
	return dynamodb.NewFromConfig(c), secretsmanager.NewFromConfig(c)
}

func bounded(c *awshttp.BuildableClient) *awshttp.BuildableClient {
	return c.WithTimeout(attemptTimeout).WithTransportOptions(func(t *http.Transport) {
		t.IdleConnTimeout = idleTimeout
		t.MaxIdleConnsPerHost = idleConnections
	})
}
