// Package local keeps what the relay keeps in one SQLite file, and reads
// secrets from environment variables: the stores of a relay in one process.
package local

import (
	"context"
	"errors"

	"mcprelay/shared/audit"
	"mcprelay/shared/registry"
	"mcprelay/shared/secret"
	"mcprelay/shared/session"
	"mcprelay/shared/token"
)

// Store is a data folder.
type Store struct{}

var errSoon = errors.New("not there yet")

// Open opens or makes the data folder.
func Open(dir string) (*Store, error) { return &Store{}, nil }

// Close waits for what is being written.
func (s *Store) Close() error { return nil }

// Intent inserts the record of a call that has not ended.
func (s *Store) Intent(ctx context.Context, r audit.Record) error { return errSoon }

// Final inserts a record, or completes the intent of the same call.
func (s *Store) Final(ctx context.Context, r audit.Record) error { return errSoon }

// Audit gives a page of records, newest first, and the cursor of the next.
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

// Secret reads a secret's environment variable.
func (s *Store) Secret(ctx context.Context, tenant string, src secret.Source) (secret.Value, error) {
	return secret.Value{}, errSoon
}
