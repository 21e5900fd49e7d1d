package runtimeapi_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/store/dynamo"
	"mcprelay/test/runtimeapi"
)

// TestTheTrailIsPublished takes records from the store through a real stream
// to the real functions/audit. Nothing polls streams here but the test.
func TestTheTrailIsPublished(t *testing.T) {
	store, streams := newTrail(t)
	begun := audit.Record{
		State: audit.StateIntent, CallID: "01JDXW7Z2M8Q4T6V9B3C5D7F1G", Tenant: tenant, Agent: "ci", Time: time.Now().UTC(),
		Server: "docs", Tool: "search", About: "search", Operation: call.OperationToolsCall, Policy: call.PolicyNotRun,
	}
	if err := store.Intent(t.Context(), begun); err != nil {
		t.Fatal(err)
	}
	final := begun
	final.State, final.Outcome, final.Reason, final.DurationMS = audit.StateFinal, call.Answered, call.OK, 12.5
	if err := store.Final(t.Context(), final); err != nil {
		t.Fatal(err)
	}
	batch, err := json.Marshal(pump(t, streams))
	if err != nil {
		t.Fatal(err)
	}
	log := &output{}
	s := runtimeapi.Start(t, runtimeapi.Options{Bootstrap: build(t, "mcprelay/functions/audit"), Log: log})
	if got := publish(t, s, batch); got != `{"batchItemFailures":[]}` {
		t.Errorf("got %s, want no failures", got)
	}
	s.Kill()
	wantLines(t, log, []any{
		map[string]any{"msg": "call", "state": "intent", "call_id": begun.CallID, "server": "docs"},
		map[string]any{"msg": "call", "state": "final", "call_id": begun.CallID, "outcome": "answered", "reason": "ok"},
		map[string]any{"outcome": "answered", "calls": json.Number("1"), "duration_ms": json.Number("12.5"), "tool": "search"},
	})
}

// TestEveryStreamEvent sends each event of events/audit to the real function.
func TestEveryStreamEvent(t *testing.T) {
	bootstrap := build(t, "mcprelay/functions/audit")
	files, err := filepath.Glob("../../events/audit/*.want.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no events: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".want.json")
		t.Run(name, func(t *testing.T) {
			var want struct {
				Failures []string // sequence numbers that come back
				Lines    []json.RawMessage
			}
			if err := json.Unmarshal(readFile(t, file), &want); err != nil {
				t.Fatal(err)
			}
			log := &output{}
			s := runtimeapi.Start(t, runtimeapi.Options{Bootstrap: bootstrap, Log: log})
			var reply events.DynamoDBEventResponse
			if err := json.Unmarshal([]byte(publish(t, s, readFile(t, strings.TrimSuffix(file, ".want.json")+".json"))), &reply); err != nil {
				t.Fatal(err)
			}
			var failures []string
			for _, failure := range reply.BatchItemFailures {
				failures = append(failures, failure.ItemIdentifier)
			}
			if !slices.Equal(failures, want.Failures) {
				t.Errorf("the records %q come back, want %q", failures, want.Failures)
			}
			s.Kill() // with it ends what it prints
			var lines []any
			for _, line := range want.Lines {
				lines = append(lines, decode(t, line))
			}
			wantLines(t, log, lines)
		})
	}
}

func publish(t *testing.T, s *runtimeapi.Simulator, batch []byte) string {
	t.Helper()
	reply, err := s.Invoke(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(body))
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func wantLines(t *testing.T, log *output, want []any) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("got %d lines, want %d:\n%s", len(lines), len(want), log)
	}
	for i, line := range lines {
		if difference := subset("line", want[i], decode(t, []byte(line))); difference != "" {
			t.Errorf("%s\nin %s", difference, line)
		}
	}
}

// newTrail is a store over moto's DynamoDB, which has streams, and the client
// that reads them.
func newTrail(t *testing.T) (*dynamo.Store, *streamReader) {
	t.Helper()
	s := &stores{}
	s.connect(t)
	table := s.create(t, dynamo.Audit)
	reader := dynamodbstreams.NewFromConfig(s.sdk, func(o *dynamodbstreams.Options) { o.BaseEndpoint = &s.moto })
	return dynamo.New(dynamo.Config{DynamoDB: s.db, Audit: table.name}), &streamReader{reader, table.stream}
}

type streamReader struct {
	client *dynamodbstreams.Client
	stream string
}

// pump reads the whole stream as the service's poller does.
func pump(t *testing.T, s *streamReader) events.DynamoDBEvent {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	described, err := s.client.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &s.stream})
	if err != nil {
		t.Fatal(err)
	}
	var batch events.DynamoDBEvent
	for _, shard := range described.StreamDescription.Shards {
		at, err := s.client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &s.stream, ShardId: shard.ShardId, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
		})
		if err != nil {
			t.Fatal(err)
		}
		read, err := s.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: at.ShardIterator})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range read.Records {
			batch.Records = append(batch.Records, events.DynamoDBEventRecord{
				EventID: aws.ToString(r.EventID), EventName: string(r.EventName), EventSource: "aws:dynamodb", EventSourceArn: s.stream,
				Change: events.DynamoDBStreamRecord{
					SequenceNumber: aws.ToString(r.Dynamodb.SequenceNumber), StreamViewType: string(r.Dynamodb.StreamViewType),
					NewImage: image(t, r.Dynamodb.NewImage),
				},
			})
		}
	}
	return batch
}

// image converts an item from the SDK's types to the event's.
func image(t *testing.T, item map[string]types.AttributeValue) map[string]events.DynamoDBAttributeValue {
	t.Helper()
	out := map[string]events.DynamoDBAttributeValue{}
	for name, value := range item {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			out[name] = events.NewStringAttribute(v.Value)
		case *types.AttributeValueMemberN:
			out[name] = events.NewNumberAttribute(v.Value)
		case *types.AttributeValueMemberB:
			out[name] = events.NewBinaryAttribute(v.Value)
		case *types.AttributeValueMemberBOOL:
			out[name] = events.NewBooleanAttribute(v.Value)
		default:
			t.Fatalf("the attribute %s is a %T", name, v)
		}
	}
	return out
}
