// Command audit publishes the audit table's stream: each record as a canonical
// log line, each final as a line of embedded metrics as well.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"mcprelay/shared/audit"
	"mcprelay/shared/event"
	"mcprelay/shared/store/dynamo"
)

func main() {
	failures := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	lambda.Start(event.Batch(func(ctx context.Context, r events.DynamoDBEventRecord) error {
		record, err := dynamo.FromStream(r.Change.NewImage)
		if err == nil {
			err = audit.Publish(os.Stdout, record)
		}
		if err != nil {
			failures.ErrorContext(ctx, "a record was not published", "event", r.EventID, "error", err.Error())
		}
		return err
	}))
}
