package local

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"mcprelay/shared/audit"
)

// unfolded gives, of the records of journals, those that SQLite will take: one
// a call, with the columns that its row will have. So many of them complete an
// intent that has a row.
func unfolded(ctx context.Context, tx *sql.Tx, written []entry) (pending map[key]entry, completed int, err error) {
	merged, _ := merge(written)
	if len(merged) == 0 {
		return nil, 0, nil
	}
	pending = make(map[key]entry, len(merged))
	calls := make([]string, 0, len(merged))
	for _, e := range merged {
		pending[key{e.tenant, e.call}] = e
		calls = append(calls, e.call)
	}
	list, err := json.Marshal(calls)
	if err != nil {
		return nil, 0, err
	}
	rows, err := tx.QueryContext(ctx, `SELECT call_id, tenant, final, time, agent, server, run FROM audit
		WHERE call_id IN (SELECT value FROM json_each(?))`, string(list))
	if err != nil {
		return nil, 0, err
	}
	completed, err = supersede(rows, pending)
	return pending, completed, err
}

// supersede drops from pending what the rows say is there already, and
// completes the finals of their intents, which it counts.
func supersede(rows *sql.Rows, pending map[key]entry) (completed int, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var was entry
		var ended bool
		if err := rows.Scan(&was.call, &was.tenant, &ended, &was.time, &was.agent, &was.server, &was.run); err != nil {
			return 0, err
		}
		id := key{was.tenant, was.call}
		e, found := pending[id]
		switch {
		case !found: // another tenant's call of the same id
		case ended || e.state == intent:
			delete(pending, id)
		default:
			e.identify(was)
			pending[id] = e
			completed++
		}
	}
	return completed, rows.Err()
}

// newest merges rows, newest first, with what is pending and selected, up to a
// size. A row whose call is pending is an intent that has been completed.
func newest(size int, rows []entry, pending map[key]entry, selected func(entry) bool) []entry {
	if len(pending) == 0 {
		return rows
	}
	rows = slices.DeleteFunc(rows, func(e entry) bool {
		_, found := pending[key{e.tenant, e.call}]
		return found
	})
	for _, e := range pending {
		if selected(e) {
			rows = append(rows, e)
		}
	}
	slices.SortFunc(rows, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.call, a.call), cmp.Compare(b.tenant, a.tenant))
	})
	return rows[:min(size, len(rows))]
}

// selects is [conditions] for an entry that is not in SQLite yet.
func selects(f audit.Filter, now time.Time, e entry) bool {
	for _, equal := range [...]struct{ has, want string }{
		{e.tenant, f.Tenant}, {e.agent, f.Agent}, {e.server, f.Server},
		{e.run, f.Run}, {e.tool, f.Tool}, {e.outcome, string(f.Outcome)},
	} {
		if equal.want != "" && equal.has != equal.want {
			return false
		}
	}
	oldest := now.Add(-Retention)
	switch {
	case e.time <= oldest.UnixNano() || e.call < lowest(oldest.Add(-skew)):
		return false
	case !f.Since.IsZero() && (e.time < f.Since.UnixNano() || e.call < lowest(f.Since.Add(-skew))):
		return false
	case !f.Until.IsZero() && (e.time >= f.Until.UnixNano() || e.call >= lowest(f.Until.Add(skew))):
		return false
	}
	return f.Cursor == "" || e.call < f.Cursor
}
