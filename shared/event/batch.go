package event

import (
	"context"

	"github.com/aws/aws-lambda-go/events"
)

// Batch serves DynamoDB stream events by calling each once a record, in order.
// It stops at the first error and reports that record, so that the stream
// comes back with it and what follows it, and with nothing before it. The
// event source mapping must ask for ReportBatchItemFailures. Delivery is at
// least once: each must bear a record twice.
func Batch(each func(context.Context, events.DynamoDBEventRecord) error) func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	return func(ctx context.Context, batch events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		reply := events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}
		for _, record := range batch.Records {
			if err := each(ctx, record); err != nil {
				failed := events.DynamoDBBatchItemFailure{ItemIdentifier: record.Change.SequenceNumber}
				reply.BatchItemFailures = append(reply.BatchItemFailures, failed)
				break
			}
		}
		return reply, nil
	}
}
