package local

import (
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"mcprelay/shared/catalog"
)

// The bounds of one catalog: what DynamoDB keeps of it, so that nothing works
// on one machine only.
const (
	// MaxTools is the most tools; the hard cap of max_tools is half of it.
	MaxTools = 1024
	// MaxCatalog bounds the descriptors together, in bytes: the defaults of
	// max_tools and max_descriptor_bytes multiplied.
	MaxCatalog = 16 << 20
	// maxText bounds one descriptor, in bytes, before it is compressed; the hard
	// cap of max_descriptor_bytes is a quarter of it.
	maxText = 4 << 20
)

// body is a catalog as it is stored: descriptors as bytes, since JSON within
// JSON would be written anew.
type body struct {
	Origin   string         `json:"origin,omitempty"`
	Acquired time.Time      `json:"acquired,omitzero"`
	Skips    []catalog.Skip `json:"skips,omitempty"`
	Tools    []packed       `json:"tools,omitempty"`
}

type packed struct {
	Name string `json:"name"`
	Raw  []byte `json:"raw"`
}

// Catalog gives the stored catalog of a server; the zero Catalog where none is
// stored.
func (s *Store) Catalog(ctx context.Context, tenant, server string) (catalog.Catalog, error) {
	var (
		c    catalog.Catalog
		text []byte
		b    body
	)
	err := s.reads.QueryRowContext(ctx, `SELECT version, body FROM catalogs WHERE tenant = ? AND server = ?`,
		tenant, server).Scan(&c.Version, &text)
	if errors.Is(err, sql.ErrNoRows) {
		return catalog.Catalog{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		return catalog.Catalog{}, fmt.Errorf("catalog of %.64q: %w", server, err)
	}
	c.Origin, c.Acquired, c.Skips = b.Origin, b.Acquired, b.Skips
	for _, tool := range b.Tools {
		c.Tools = append(c.Tools, catalog.Tool{Name: tool.Name, Raw: tool.Raw})
	}
	return c, nil
}

// PutCatalog replaces the catalog of a server, while the stored one still has
// its Version, 0 for none, and gives it with its new one, or
// [catalog.ErrConflict]. A tool that DynamoDB could not keep as one item is
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

// pack is a catalog as it is stored, or why it cannot be.
func pack(c catalog.Catalog) ([]byte, error) {
	if len(c.Tools) > MaxTools {
		return nil, fmt.Errorf("%w: %d tools, at most %d", ErrTooLarge, len(c.Tools), MaxTools)
	}
	b, size := body{Origin: c.Origin, Acquired: c.Acquired, Skips: c.Skips}, 0
	for _, tool := range c.Tools {
		if size += len(tool.Raw); size > MaxCatalog {
			return nil, fmt.Errorf("%w: the tools up to %.128q have %d bytes, at most %d", ErrTooLarge, tool.Name, size, MaxCatalog)
		}
		if !utf8.ValidString(tool.Name) {
			return nil, fmt.Errorf("the name %.128q is not UTF-8", tool.Name)
		}
		if err := asItem(tool.Raw); err != nil {
			return nil, fmt.Errorf("tool %.128q: %w", tool.Name, err)
		}
		b.Tools = append(b.Tools, packed{tool.Name, tool.Raw})
	}
	skips, err := json.Marshal(c.Skips)
	if err == nil {
		err = asItem(skips)
	}
	if err != nil {
		return nil, fmt.Errorf("what was left out of it: %w", err)
	}
	return json.Marshal(b)
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
