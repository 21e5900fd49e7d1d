package local

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"mcprelay/shared/registry"
	"mcprelay/shared/token"
)

// Documents gives a tenant's registration, by kind and name; nothing for a
// tenant that registered nothing.
func (s *Store) Documents(ctx context.Context, tenant string) (documents []registry.Document, err error) {
	rows, err := s.reads.QueryContext(ctx,
		`SELECT kind, name, rev, body FROM registry WHERE tenant = ? ORDER BY kind, name`, tenant)
	if err != nil {
		return nil, fmt.Errorf("documents: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var d registry.Document
		var body []byte
		if err := rows.Scan(&d.Kind, &d.Name, &d.Rev, &body); err != nil {
			return nil, fmt.Errorf("documents: %w", err)
		}
		d.Body = body
		documents = append(documents, d)
	}
	return documents, rows.Err()
}

// PutDocument stores a document over its revision, 0 for a new one, and gives
// the new revision, or [registry.ErrConflict]. An issuer for an audience of
// another tenant is [registry.ErrClaimed].
func (s *Store) PutDocument(ctx context.Context, tenant string, d registry.Document) (int64, error) {
	if err := check(tenant, d); err != nil {
		return 0, fmt.Errorf("document %s: %w", d.Kind, err)
	}
	next := d.Rev + 1
	err := s.writes.write(ctx, true, func(ctx context.Context, s *statements) error {
		if err := unclaimed(ctx, s.issuers, tenant, d); err != nil {
			return err
		}
		statement := s.addDocument
		if d.Rev != 0 {
			statement = s.setDocument
		}
		stored, err := changed(ctx, statement, tenant, d.Kind, d.Name, next, string(d.Body))
		if err == nil && !stored {
			err = registry.ErrConflict
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("document %s: %w", d.Kind, err)
	}
	return next, nil
}

// unclaimed refuses an issuer for an audience that another tenant has.
func unclaimed(ctx context.Context, others *sql.Stmt, tenant string, d registry.Document) (err error) {
	claim := d.Claim()
	if claim == "" {
		return nil
	}
	rows, err := others.QueryContext(ctx, d.Name, tenant)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var body []byte
		if err := rows.Scan(&body); err != nil {
			return err
		}
		if (registry.Document{Kind: registry.KindIssuer, Body: body}).Claim() == claim {
			return registry.ErrClaimed
		}
	}
	return rows.Err()
}

// check refuses what could not be read back as it is.
func check(tenant string, d registry.Document) error {
	if tenant == "" {
		return errors.New("it has no tenant")
	}
	if err := d.Check(); err != nil {
		return err
	}
	return within(d.Body)
}

// IssuerTenants lists the tenants that registered an issuer, by name.
func (s *Store) IssuerTenants(ctx context.Context, issuer string) (tenants []string, err error) {
	rows, err := s.reads.QueryContext(ctx,
		`SELECT tenant FROM registry WHERE kind = ? AND name = ? ORDER BY tenant`, registry.KindIssuer, issuer)
	if err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var tenant string
		if err := rows.Scan(&tenant); err != nil {
			return nil, fmt.Errorf("issuer: %w", err)
		}
		tenants = append(tenants, tenant)
	}
	return tenants, rows.Err()
}

// Token gives what is kept of a token, expired and revoked ones as well, or
// [token.ErrUnknown].
func (s *Store) Token(ctx context.Context, keyID string) (token.Record, error) {
	var text []byte
	var record token.Record
	err := s.reads.QueryRowContext(ctx, `SELECT record FROM tokens WHERE key_id = ?`, keyID).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return record, token.ErrUnknown
	}
	if err == nil {
		err = json.Unmarshal(text, &record)
	}
	if err != nil {
		return token.Record{}, fmt.Errorf("token: %w", err)
	}
	return record, nil
}

// PutToken keeps a token, or changes what is kept of it. Another token's key
// id is [ErrExists].
func (s *Store) PutToken(ctx context.Context, r token.Record) error {
	if r.KeyID == "" || r.Tenant == "" {
		return errors.New("token: it has no key id or no tenant")
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = within(text)
	}
	if err != nil {
		return fmt.Errorf("token: %w", err)
	}
	err = s.writes.write(ctx, true, func(ctx context.Context, s *statements) error {
		kept, err := changed(ctx, s.putToken, r.KeyID, hex.EncodeToString(r.Hash[:]), string(text))
		if err == nil && !kept {
			err = ErrExists
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("token: %w", err)
	}
	return nil
}
