package local

import (
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"mcprelay/shared/catalog"
)

// maxText bounds one descriptor, in bytes, before it is compressed, as for
// DynamoDB, so that nothing works on one machine only; the hard cap of
// max_descriptor_bytes is a quarter of it.
const maxText = 4 << 20

// Catalog gives the stored catalog of a server; the zero Catalog where none is
// stored. Of one that a relay stored which knew tools only it gives the version
// alone, which it can be replaced by.
func (s *Store) Catalog(ctx context.Context, tenant, server string) (catalog.Catalog, error) {
	var version int64
	var text []byte
	err := s.reads.QueryRowContext(ctx, `SELECT version, body FROM catalogs WHERE tenant = ? AND server = ?`,
		tenant, server).Scan(&version, &text)
	if errors.Is(err, sql.ErrNoRows) {
		return catalog.Catalog{}, nil
	}
	var c catalog.Catalog
	if err == nil {
		c, err = unpack(text, version)
	}
	if err != nil {
		return catalog.Catalog{}, fmt.Errorf("catalog of %.64q: %w", server, err)
	}
	return c, nil
}

// PutCatalog replaces the catalog of a server, while the stored one still has
// its Version, 0 for none, and gives it with its new one, or
// [catalog.ErrConflict]. A descriptor that DynamoDB could not keep as one item is
// [ErrTooLarge], which names it.
func (s *Store) PutCatalog(ctx context.Context, tenant, server string, c catalog.Catalog) (catalog.Catalog, error) {
	text, err := pack(c)
	if err == nil && (tenant == "" || server == "") {
		err = errors.New("it has no tenant or no server")
	}
	if err != nil {
		return catalog.Catalog{}, fmt.Errorf("catalog of %.64q: %w", server, err)
	}
	err = s.writes.write(ctx, false, func(ctx context.Context, s *statements) error {
		statement := s.addCatalog
		if c.Version != 0 {
			statement = s.setCatalog
		}
		stored, err := changed(ctx, statement, tenant, server, c.Version+1, text)
		if err == nil && !stored {
			err = catalog.ErrConflict
		}
		return err
	})
	if err != nil {
		return catalog.Catalog{}, fmt.Errorf("catalog of %.64q: %w", server, err)
	}
	c.Version++
	return c, nil
}

// asItem refuses a text that is too large for one item even when compressed.
func asItem(text []byte) error {
	if len(text) <= MaxItem {
		return nil
	}
	if len(text) > maxText {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(text), maxText)
	}
	var size length
	z := gzip.NewWriter(&size)
	// Counting bytes never fails.
	_, _ = z.Write(text)
	_ = z.Close()
	if size > MaxItem {
		return fmt.Errorf("%w: %d bytes, %d when compressed, at most %d", ErrTooLarge, len(text), size, MaxItem)
	}
	return nil
}

// length counts the bytes that are written to it.
type length int

func (l *length) Write(p []byte) (int, error) {
	*l += length(len(p))
	return len(p), nil
}
