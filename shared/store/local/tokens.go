package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcprelay/shared/token"
)

// Tokens lists what is kept of a tenant's tokens, expired and revoked ones as
// well, by subject, then by when they were made.
func (s *Store) Tokens(ctx context.Context, tenant string) (records []token.Record, err error) {
	rows, err := s.reads.QueryContext(ctx, `SELECT record FROM tokens`)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text []byte
		var r token.Record
		if err := rows.Scan(&text); err != nil {
			return nil, fmt.Errorf("tokens: %w", err)
		}
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("tokens: %w", err)
		}
		if r.Tenant == tenant {
			records = append(records, r)
		}
	}
	slices.SortFunc(records, func(a, b token.Record) int {
		if order := strings.Compare(a.Subject, b.Subject); order != 0 {
			return order
		}
		if order := a.Created.Compare(b.Created); order != 0 {
			return order
		}
		return strings.Compare(a.KeyID, b.KeyID)
	})
	return records, rows.Err()
}
