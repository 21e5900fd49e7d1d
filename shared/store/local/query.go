package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"mcprelay/shared/audit"
)

// skew is how far a call id's time may lie from the record's own: both are
// taken from one clock reading, to the millisecond in the id.
const skew = time.Second

// Audit gives a page of records, newest first, and the cursor of the next page,
// empty after the last. A cursor stays good while records arrive: it stands
// for a call id. An empty Tenant selects all tenants, since whoever may open
// the folder may read it. It sees what every process wrote before it was asked.
func (s *Store) Audit(ctx context.Context, f audit.Filter) ([]audit.Record, string, error) {
	page, err := s.page(ctx, f)
	if err != nil {
		return nil, "", fmt.Errorf("audit: %w", err)
	}
	size := f.PageSize()
	records := make([]audit.Record, min(size, len(page)))
	for i := range records {
		if err := json.Unmarshal([]byte(page[i].record), &records[i]); err != nil {
			return nil, "", fmt.Errorf("audit: record of %s: %w", page[i].call, err)
		}
	}
	if len(page) <= size {
		return records, "", nil
	}
	return records, records[size-1].CallID, nil
}

// page gives the entries of a page and, where there is a next page, one more.
// The journals are read before SQLite: what is folded meanwhile is in both.
func (s *Store) page(ctx context.Context, f audit.Filter) ([]entry, error) {
	now := s.now()
	where, args, err := conditions(f, now)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	written, err := s.trail.folder.pending()
	if err != nil {
		return nil, err
	}
	// Of what is looked up and what is read, a fold between them must not make two.
	tx, err := s.reads.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	pending, completed, err := unfolded(ctx, tx, written)
	if err != nil {
		return nil, err
	}
	size := f.PageSize() + 1
	rows, err := tx.QueryContext(ctx, `SELECT call_id, tenant, record FROM audit WHERE `+where+` ORDER BY call_id DESC, tenant DESC LIMIT ?`,
		append(args, size+completed)...)
	if err != nil {
		return nil, err
	}
	folded, err := scanRows(rows)
	if err != nil {
		return nil, err
	}
	return newest(size, folded, pending, func(e entry) bool { return selects(f, now, e) }), nil
}

// conditions is the WHERE of a filter.
func conditions(f audit.Filter, now time.Time) (string, []any, error) {
	oldest := now.Add(-Retention)
	parts, args := []string{"time > ? AND call_id >= ?"}, []any{oldest.UnixNano(), lowest(oldest.Add(-skew))}
	add := func(condition string, values ...any) {
		parts, args = append(parts, condition), append(args, values...)
	}
	for _, equal := range [...]struct{ column, value string }{
		{"tenant", f.Tenant}, {"agent", f.Agent}, {"server", f.Server},
		{"run", f.Run}, {"tool", f.Tool}, {"outcome", string(f.Outcome)},
	} {
		if equal.value != "" {
			add(equal.column+" = ?", equal.value)
		}
	}
	if !f.Since.IsZero() {
		add("time >= ? AND call_id >= ?", f.Since.UnixNano(), lowest(f.Since.Add(-skew)))
	}
	if !f.Until.IsZero() {
		add("time < ? AND call_id < ?", f.Until.UnixNano(), lowest(f.Until.Add(skew)))
	}
	if f.Cursor != "" {
		if _, err := ulid.ParseStrict(f.Cursor); err != nil {
			return "", nil, ErrCursor
		}
		add("call_id < ?", f.Cursor)
	}
	return strings.Join(parts, " AND "), args, nil
}

// scanRows reads what page asks for.
func scanRows(rows *sql.Rows) (entries []entry, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var e entry
		if err := rows.Scan(&e.call, &e.tenant, &e.record); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, rows.Err()
}

// lowest is the least call id of a time.
func lowest(at time.Time) string {
	var id ulid.ULID
	if at.UnixMilli() > 0 {
		// Fails only for the year 10889 and later.
		_ = id.SetTime(ulid.Timestamp(at))
	}
	return id.String()
}
