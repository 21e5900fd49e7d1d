package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The names of the tables in [Schema].
const (
	Registry = "registry"
	State    = "state"
	Audit    = "audit"
)

// Shards is how many partitions every index key, and every day of a tenant's
// audit trail, is spread over: a partition takes 1,000 writes a second, so a
// flood of one agent's calls, or of denials, is bounded at 8,000. It must
// never shrink: readers look into this many only.
const Shards = 8

// The attributes of items. Those that end in _pk are the partitions of the
// indexes; an item without one is not in that index.
const (
	attrPK       = "pk"
	attrSK       = "sk"
	attrExpiry   = "exp" // seconds since 1970; DynamoDB deletes days later
	attrMark     = "w"   // which write made the item
	attrAgentPK  = "agent_pk"
	attrServerPK = "server_pk"
	attrRunPK    = "run_pk"
	attrDenyPK   = "deny_pk"
	attrOpenPK   = "open_pk"
	attrClosePK  = "close_pk" // of the sessions that somebody must close

	attrRecord  = "record" // the JSON document of an audit record or a token
	attrState   = "state"  // of an audit record: intent or final
	attrAgent   = "agent"
	attrServer  = "server"
	attrTool    = "tool"
	attrRun     = "run"
	attrOutcome = "outcome"
	attrBody    = "body" // the JSON document of a session or of a registration
	attrVer     = "ver"
	attrRev     = "rev"
	attrHash    = "hash" // of a token
	attrCall    = "call" // the id of a call
	attrReply   = "reply"

	attrGeneration = "gen"   // of a catalog: which of its tools hold
	attrCount      = "count" // of a catalog: how many they are; of a counter: what it counted
	attrFormat     = "format"
	attrList       = "list" // of a descriptor
	attrDigest     = "digest"
	attrPacked     = "zip" // instead of a body: compressed by gzip
)

// The indexes of the audit table, then those of the state table.
const (
	IndexAgent  = "agent"  // of an agent in a month
	IndexServer = "server" // of a server in a month
	IndexRun    = "run"    // of a run; in the state table what to close with it
	IndexDeny   = "deny"   // sparse: what was not allowed, of a tenant in a month
	IndexOpen   = "open"   // sparse: intents without a final
	IndexExpiry = "expiry" // sparse: upstream sessions to close, by their expiry
)

// Table describes one table. Its JSON form has the names and the shape of the
// properties of AWS::DynamoDB::Table.
type Table struct {
	Name                   string      `json:"-"` // in this package; a deployed table's name is its own
	AttributeDefinitions   []Attribute `json:"AttributeDefinitions"`
	KeySchema              []Key       `json:"KeySchema"`
	GlobalSecondaryIndexes []Index     `json:"GlobalSecondaryIndexes,omitempty"`
	TimeToLive             *TTL        `json:"TimeToLiveSpecification,omitempty"`
	Stream                 *Stream     `json:"StreamSpecification,omitempty"`
	Recovery               *Recovery   `json:"PointInTimeRecoverySpecification,omitempty"`
}

// Attribute is the type of a key attribute: S or N.
type Attribute struct{ AttributeName, AttributeType string }

// Key is one part of a key: HASH or RANGE.
type Key struct{ AttributeName, KeyType string }

// Index is a global secondary index.
type Index struct {
	IndexName  string
	KeySchema  []Key
	Projection Projection
}

// Projection says what an index holds of an item.
type Projection struct{ ProjectionType string }

// TTL names the attribute by which items expire.
type TTL struct {
	AttributeName string
	Enabled       bool
}

// Stream says what the table's stream carries.
type Stream struct{ StreamViewType string }

// Recovery says whether the table can be restored to a point in time.
type Recovery struct{ PointInTimeRecoveryEnabled bool }

// Schema describes the three tables: what the template declares and what
// tests create.
func Schema() []Table {
	expires := &TTL{AttributeName: attrExpiry, Enabled: true}
	return []Table{
		{
			Name:                 Registry,
			AttributeDefinitions: texts(attrPK, attrSK),
			KeySchema:            key(attrPK, attrSK),
			Recovery:             &Recovery{PointInTimeRecoveryEnabled: true},
		},
		{
			Name:                 State,
			AttributeDefinitions: append(texts(attrPK, attrRunPK, attrClosePK), Attribute{attrExpiry, "N"}),
			KeySchema:            key(attrPK),
			GlobalSecondaryIndexes: []Index{
				index(IndexRun, attrRunPK, attrPK),
				index(IndexExpiry, attrClosePK, attrExpiry),
			},
			TimeToLive: expires,
		},
		{
			Name:                 Audit,
			AttributeDefinitions: texts(attrPK, attrSK, attrAgentPK, attrServerPK, attrRunPK, attrDenyPK, attrOpenPK),
			KeySchema:            key(attrPK, attrSK),
			GlobalSecondaryIndexes: []Index{
				index(IndexAgent, attrAgentPK, attrSK),
				index(IndexServer, attrServerPK, attrSK),
				index(IndexRun, attrRunPK, attrSK),
				index(IndexDeny, attrDenyPK, attrSK),
				index(IndexOpen, attrOpenPK, attrSK),
			},
			TimeToLive: expires,
			Stream:     &Stream{StreamViewType: "NEW_IMAGE"},
		},
	}
}

func texts(names ...string) []Attribute {
	attributes := make([]Attribute, len(names))
	for i, name := range names {
		attributes[i] = Attribute{name, "S"}
	}
	return attributes
}

func key(partition string, sort ...string) []Key {
	keys := []Key{{partition, "HASH"}}
	for _, name := range sort {
		keys = append(keys, Key{name, "RANGE"})
	}
	return keys
}

func index(name, partition, sort string) Index {
	return Index{IndexName: name, KeySchema: key(partition, sort), Projection: Projection{ProjectionType: "ALL"}}
}

// CreateTable is the request that makes the table under the given name. TTL
// and recovery are settings of a table that exists.
func (t Table) CreateTable(name string) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{TableName: &name, KeySchema: elements(t.KeySchema), BillingMode: types.BillingModePayPerRequest}
	for _, a := range t.AttributeDefinitions {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: &a.AttributeName, AttributeType: types.ScalarAttributeType(a.AttributeType),
		})
	}
	for _, i := range t.GlobalSecondaryIndexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: &i.IndexName, KeySchema: elements(i.KeySchema),
			Projection: &types.Projection{ProjectionType: types.ProjectionType(i.Projection.ProjectionType)},
		})
	}
	if t.Stream != nil {
		in.StreamSpecification = &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewType(t.Stream.StreamViewType),
		}
	}
	return in
}

func elements(keys []Key) []types.KeySchemaElement {
	elements := make([]types.KeySchemaElement, len(keys))
	for i, k := range keys {
		elements[i] = types.KeySchemaElement{AttributeName: &k.AttributeName, KeyType: types.KeyType(k.KeyType)}
	}
	return elements
}
