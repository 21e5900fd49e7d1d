package event_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/event"
)

func TestABatchReportsTheFirstRecordThatFailed(t *testing.T) {
	for name, test := range map[string]struct {
		records []string
		fails   map[string]bool
		served  []string
		reply   string
	}{
		"all served":      {[]string{"1", "2"}, nil, []string{"1", "2"}, `{"batchItemFailures":[]}`},
		"the second":      {[]string{"1", "2", "3"}, map[string]bool{"2": true}, []string{"1", "2"}, `{"batchItemFailures":[{"itemIdentifier":"2"}]}`},
		"the first":       {[]string{"1", "2"}, map[string]bool{"1": true, "2": true}, []string{"1"}, `{"batchItemFailures":[{"itemIdentifier":"1"}]}`},
		"an empty batch":  {nil, nil, nil, `{"batchItemFailures":[]}`},
		"a single record": {[]string{"9"}, nil, []string{"9"}, `{"batchItemFailures":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			var batch events.DynamoDBEvent
			for _, id := range test.records {
				batch.Records = append(batch.Records, events.DynamoDBEventRecord{Change: events.DynamoDBStreamRecord{SequenceNumber: id}})
			}
			var served []string
			reply, err := event.Batch(func(_ context.Context, r events.DynamoDBEventRecord) error {
				served = append(served, r.Change.SequenceNumber)
				if test.fails[r.Change.SequenceNumber] {
					return errors.New("not this one")
				}
				return nil
			})(context.Background(), batch)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := json.Marshal(reply)
			if string(text) != test.reply {
				t.Errorf("got %s, want %s", text, test.reply)
			}
			if diff := cmp.Diff(test.served, served); diff != "" {
				t.Errorf("served (-want +got):\n%s", diff)
			}
		})
	}
}
