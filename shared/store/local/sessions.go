package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mcprelay/shared/session"
)

// The questions for sessions that must be closed. Each repeats the condition of
// its index, without which SQLite reads the table.
const (
	closesOfRun   = `SELECT key, ver, body FROM state WHERE run = ? AND run <> '' AND closes > ? ORDER BY expires, key LIMIT ?`
	closesExpired = `SELECT key, ver, body FROM state WHERE closes > 0 AND expires <= ? AND closes > ? ORDER BY expires, key LIMIT ?`
)

// MaxEntries bounds the sessions that one question gives.
const MaxEntries = 1000

// SessionsOfRun gives the sessions of a run that nobody has closed yet, by
// [session.State.RunKey], expired ones as well; at most [MaxEntries].
func (s *Store) SessionsOfRun(ctx context.Context, run session.Key) ([]session.Entry, error) {
	if run == "" {
		return nil, nil
	}
	entries, err := s.entries(ctx, closesOfRun, string(run), s.now().Unix(), MaxEntries)
	if err != nil {
		return nil, fmt.Errorf("sessions of a run: %w", err)
	}
	return entries, nil
}

// SessionsExpired gives the sessions that expired by a time and that nobody has
// closed yet, oldest first; at most limit of them and at most [MaxEntries].
// What nobody closed within [session.ClosingGrace] is not given any more.
func (s *Store) SessionsExpired(ctx context.Context, before time.Time, limit int) ([]session.Entry, error) {
	entries, err := s.entries(ctx, closesExpired, before.Unix(), s.now().Unix(), max(0, min(limit, MaxEntries)))
	if err != nil {
		return nil, fmt.Errorf("expired sessions: %w", err)
	}
	// The column knows seconds.
	for i, e := range entries {
		if e.State.Expires.After(before) {
			return entries[:i], nil
		}
	}
	return entries, nil
}

func (s *Store) entries(ctx context.Context, query string, args ...any) (entries []session.Entry, err error) {
	rows, err := s.reads.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var e session.Entry
		var ver int64
		var body []byte
		var at string
		if err := rows.Scan(&at, &ver, &body); err != nil {
			return nil, err
		}
		key, _, _ := strings.Cut(at, asideMark)
		e.Key = session.Key(key)
		if err := json.Unmarshal(body, &e.State); err != nil {
			return nil, fmt.Errorf("a stored state: %w", err)
		}
		e.State.Ver = ver
		entries = append(entries, e)
	}
	return entries, rows.Err()
}

// closes is until when a session can be closed, in seconds since 1970; 0 for a
// state without one.
func closes(state session.State) int64 {
	if state.SessionID == "" {
		return 0
	}
	return state.Expires.Add(session.ClosingGrace).Unix()
}

// asideMark ends the key of a session in the key of one that was set aside. The
// version follows; no digest holds the mark.
const asideMark = "~"

// asideKey is where a session is set aside that had a version.
func asideKey(key session.Key, ver int64) string {
	return string(key) + asideMark + strconv.FormatInt(ver, 10)
}

// aside keeps the expired session of a key, where nobody has closed it yet,
// where nobody loads it, so that a new state can take its place. There it has a
// negative version, by which it can be saved.
func (s *Store) aside(ctx context.Context, key session.Key) error {
	now := s.now().Unix()
	var ver int64
	err := s.reads.QueryRowContext(ctx, `SELECT ver FROM state WHERE key = ? AND expires <= ? AND closes > ?`,
		string(key), now, now).Scan(&ver)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return s.writes.write(ctx, false, func(ctx context.Context, s *statements) error {
		// Nothing changes where somebody else was first, as he did the same.
		_, err := changed(ctx, s.aside, string(key), ver, asideKey(key, ver))
		return err
	})
}
