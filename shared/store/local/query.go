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
// the folder may read it.
func (s *Store) Audit(ctx context.Context, f audit.Filter) ([]audit.Record, string, error) {
	where, args, err := conditions(f, s.now())
	if err != nil {
		return nil, "", fmt.Errorf("audit: %w", err)
	}
	size := f.PageSize()
	// One more than asked for tells whether there is a next page.
	query := `SELECT record FROM audit WHERE ` + where + ` ORDER BY call_id DESC LIMIT ?`
	rows, err := s.reads.QueryContext(ctx, query, append(args, size+1)...)
	if err != nil {
		return nil, "", fmt.Errorf("audit: %w", err)
	}
	records, err := scan(rows)
	if err != nil {
		return nil, "", fmt.Errorf("audit: %w", err)
	}
	if len(records) <= size {
		return records, "", nil
	}
	records = records[:size]
	return records, records[size-1].CallID, nil
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

func scan(rows *sql.Rows) (records []audit.Record, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text []byte
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		var record audit.Record
		if err := json.Unmarshal(text, &record); err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, rows.Err()
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
