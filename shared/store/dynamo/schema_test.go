package dynamo_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/store/dynamo"
)

// schemas are the tables as CloudFormation properties.
const schemas = `{
"registry": {
	"AttributeDefinitions": [{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}],
	"KeySchema": [{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
	"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled":true}
},
"state": {
	"AttributeDefinitions": [{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"run_pk","AttributeType":"S"},
		{"AttributeName":"close_pk","AttributeType":"S"},{"AttributeName":"exp","AttributeType":"N"}],
	"KeySchema": [{"AttributeName":"pk","KeyType":"HASH"}],
	"GlobalSecondaryIndexes": [
		{"IndexName":"run","KeySchema":[{"AttributeName":"run_pk","KeyType":"HASH"},{"AttributeName":"pk","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}},
		{"IndexName":"expiry","KeySchema":[{"AttributeName":"close_pk","KeyType":"HASH"},{"AttributeName":"exp","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}],
	"TimeToLiveSpecification": {"AttributeName":"exp","Enabled":true}
},
"audit": {
	"AttributeDefinitions": [{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"},
		{"AttributeName":"agent_pk","AttributeType":"S"},{"AttributeName":"server_pk","AttributeType":"S"},{"AttributeName":"run_pk","AttributeType":"S"},
		{"AttributeName":"deny_pk","AttributeType":"S"},{"AttributeName":"open_pk","AttributeType":"S"}],
	"KeySchema": [{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
	"GlobalSecondaryIndexes": [
		{"IndexName":"agent","KeySchema":[{"AttributeName":"agent_pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}},
		{"IndexName":"server","KeySchema":[{"AttributeName":"server_pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}},
		{"IndexName":"run","KeySchema":[{"AttributeName":"run_pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}},
		{"IndexName":"deny","KeySchema":[{"AttributeName":"deny_pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}},
		{"IndexName":"open","KeySchema":[{"AttributeName":"open_pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}],
	"StreamSpecification": {"StreamViewType":"NEW_IMAGE"},
	"TimeToLiveSpecification": {"AttributeName":"exp","Enabled":true}
}}`

func TestSchemaIsInTheShapeOfATemplate(t *testing.T) {
	var want, got map[string]any
	if err := json.Unmarshal([]byte(schemas), &want); err != nil {
		t.Fatal(err)
	}
	tables := map[string]dynamo.Table{}
	for _, table := range dynamo.Schema() {
		tables[table.Name] = table
	}
	text, err := json.Marshal(tables)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
}

// DynamoDB refuses a table whose attribute definitions are not exactly the
// attributes of its keys; moto does not.
func TestEveryDefinedAttributeIsOfAKey(t *testing.T) {
	for _, table := range dynamo.Schema() {
		used := map[string]bool{}
		for _, k := range table.KeySchema {
			used[k.AttributeName] = true
		}
		for _, index := range table.GlobalSecondaryIndexes {
			for _, k := range index.KeySchema {
				used[k.AttributeName] = true
			}
		}
		defined := map[string]bool{}
		for _, a := range table.AttributeDefinitions {
			defined[a.AttributeName] = true
		}
		if diff := cmp.Diff(used, defined); diff != "" {
			t.Errorf("%s: attributes of keys and definitions (-used +defined):\n%s", table.Name, diff)
		}
	}
}

func TestCreateTableAsksForWhatTheSchemaSays(t *testing.T) {
	for _, table := range dynamo.Schema() {
		in := table.CreateTable("deployed-" + table.Name)
		if *in.TableName != "deployed-"+table.Name {
			t.Errorf("got table %s", *in.TableName)
		}
		if len(in.KeySchema) != len(table.KeySchema) || len(in.AttributeDefinitions) != len(table.AttributeDefinitions) ||
			len(in.GlobalSecondaryIndexes) != len(table.GlobalSecondaryIndexes) || (in.StreamSpecification != nil) != (table.Stream != nil) {
			t.Errorf("%s: the request leaves something out: %+v", table.Name, in)
		}
		for i, index := range in.GlobalSecondaryIndexes {
			want := table.GlobalSecondaryIndexes[i]
			if *index.IndexName != want.IndexName || *index.KeySchema[0].AttributeName != want.KeySchema[0].AttributeName {
				t.Errorf("%s: got index %s on %s, want %s", table.Name, *index.IndexName, *index.KeySchema[0].AttributeName, want.IndexName)
			}
		}
	}
}
