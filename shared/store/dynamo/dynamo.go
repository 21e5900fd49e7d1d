// Package dynamo keeps what the relay keeps in DynamoDB and reads secrets from
// Secrets Manager: the stores of a relay on Lambda.
//
// It promises that every write takes effect as one conditional write of one
// item, that a write the SDK had to repeat is not mistaken for somebody else's,
// that what has expired is never read although DynamoDB deletes it days later,
// that a session stays findable until it can be closed no more, and that no
// call outlives its context. It refuses transactions, scans, items over
// [MaxItem] bytes, and secrets whose names are not the tenant's.
package dynamo

import (
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
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
// tables' names. SecretPrefix, which may be empty, is what the names of all
// secrets begin with: those of a tenant with SecretPrefix, the tenant's id and a
// slash. A nil Now is time.Now.
type Config struct {
	DynamoDB               *dynamodb.Client
	Secrets                *secretsmanager.Client
	Registry, State, Audit string
	SecretPrefix           string
	Now                    func() time.Time
}

// Store is safe for concurrent use. It keeps nothing between calls.
type Store struct {
	c Config
}

// New makes a store over clients that [Clients] made.
func New(c Config) *Store {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Store{c}
}

// within refuses an item that is too large.
func within(item []byte) error {
	if len(item) > MaxItem {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(item), MaxItem)
	}
	return nil
}
