package contract_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/oklog/ulid/v2"

	"mcprelay/shared/audit"
	"mcprelay/shared/store/dynamo"
	"mcprelay/shared/store/local"
	"mcprelay/test/peers"
)

// TestStreamCarriesIntentAndFinal reads the audit table's own stream: dynalite
// has none.
func TestStreamCarriesIntentAndFinal(t *testing.T) {
	cfg := awsConfig(peers.Moto(t))
	prefix := "s" + strings.ToLower(ulid.Make().String()) + "-"
	db, _ := dynamo.Clients(cfg)
	createTables(t, db, prefix)
	s := openDynamo(cfg, prefix)
	allowed, denied := full(newTenant()), refused(newTenant(), now())
	must(t, s.Intent(t.Context(), allowed))
	must(t, s.Final(t.Context(), final(allowed)))
	must(t, s.Final(t.Context(), denied))

	name := prefix + dynamo.Audit
	table, err := db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
	must(t, err)
	var got []audit.Record
	for _, record := range streamOf(t, dynamodbstreams.NewFromConfig(cfg), *table.Table.LatestStreamArn) {
		if record.EventName != types.OperationTypeInsert && record.EventName != types.OperationTypeModify {
			t.Errorf("got event %s", record.EventName)
		}
		r, err := dynamo.FromStream(image(record.Dynamodb.NewImage))
		must(t, err)
		got = append(got, r)
	}
	wantRecords(t, got, allowed, final(allowed), denied)
}

// streamOf reads a stream from its beginning; moto's have one shard.
func streamOf(t *testing.T, c *dynamodbstreams.Client, arn string) []types.Record {
	t.Helper()
	stream, err := c.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn})
	must(t, err)
	iterator, err := c.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &arn, ShardId: stream.StreamDescription.Shards[0].ShardId, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	})
	must(t, err)
	out, err := c.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: iterator.ShardIterator})
	must(t, err)
	return out.Records
}

// image is an image as a Lambda gets it.
func image(attributes map[string]types.AttributeValue) map[string]events.DynamoDBAttributeValue {
	out := map[string]events.DynamoDBAttributeValue{}
	for name, value := range attributes {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			out[name] = events.NewStringAttribute(v.Value)
		case *types.AttributeValueMemberN:
			out[name] = events.NewNumberAttribute(v.Value)
		case *types.AttributeValueMemberB:
			out[name] = events.NewBinaryAttribute(v.Value)
		}
	}
	return out
}

// A retention is promised to operators: what a template or a page says of it
// must be what both stores do.
func TestBothStoresKeepRecordsEquallyLong(t *testing.T) {
	if local.Retention != dynamo.Retention || dynamo.Retention != 90*24*time.Hour {
		t.Errorf("got %v and %v, want 90 days", local.Retention, dynamo.Retention)
	}
}
