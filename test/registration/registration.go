// Package registration puts what a config file says into a store, as an
// operator does for a deployed relay.
//
// It promises that what it stores was read and checked as the file of a local
// relay is. It refuses a file that such a relay would refuse.
package registration

import (
	"context"
	"fmt"
	"slices"

	"mcprelay/shared/config"
	"mcprelay/shared/registry"
)

// Store keeps the documents of a tenant.
type Store interface {
	PutDocument(ctx context.Context, tenant string, d registry.Document) (int64, error)
}

// Put stores the documents of a config file for its tenant: all of them, or
// where kinds are named those of them alone.
func Put(ctx context.Context, s Store, file []byte, kinds ...string) error {
	c, err := config.Parse("registration", file, config.Options{})
	if err != nil {
		return err
	}
	documents, err := c.Documents()
	if err != nil {
		return err
	}
	for _, d := range documents {
		if len(kinds) > 0 && !slices.Contains(kinds, d.Kind) {
			continue
		}
		if _, err := s.PutDocument(ctx, c.Tenant.ID, d); err != nil {
			return fmt.Errorf("storing %s %s: %w", d.Kind, d.Name, err)
		}
	}
	return nil
}
