package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// schemaVersion is the user_version of the file. A change of the tables adds a
// step in [migrate] and counts it up.
const schemaVersion = 1

// The tables. Audit rows are found by call id, which begins with the time, and
// by what comes before it in an index. Rows with a rowid take a new record at
// the table's end: 27 µs each in a batch of 8, where WITHOUT ROWID took 31,
// since its rows of 1 KB overflow their pages.
const schema = `
CREATE TABLE audit (
	call_id TEXT NOT NULL,
	tenant  TEXT NOT NULL,
	final   INTEGER NOT NULL,
	time    INTEGER NOT NULL, -- nanoseconds since 1970
	agent   TEXT NOT NULL,
	server  TEXT NOT NULL,
	tool    TEXT NOT NULL,
	run     TEXT NOT NULL,
	outcome TEXT NOT NULL,
	expires INTEGER NOT NULL, -- seconds since 1970, here and below
	record  TEXT NOT NULL,
	UNIQUE (call_id, tenant)
);
CREATE INDEX audit_agent  ON audit (agent, call_id);
CREATE INDEX audit_server ON audit (server, call_id);
CREATE INDEX audit_run    ON audit (run, call_id) WHERE run <> '';
CREATE TABLE state (
	key     TEXT PRIMARY KEY,
	ver     INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	body    TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX state_expires ON state (expires);
CREATE TABLE registry (
	tenant TEXT NOT NULL,
	kind   TEXT NOT NULL,
	name   TEXT NOT NULL,
	rev    INTEGER NOT NULL,
	body   TEXT NOT NULL,
	PRIMARY KEY (tenant, kind, name)
);
CREATE TABLE tokens (
	key_id TEXT PRIMARY KEY,
	hash   TEXT NOT NULL,
	record TEXT NOT NULL
) WITHOUT ROWID;
`

// openTries and openPause bound the wait for another process that makes the
// same file: SQLite refuses a change of the journal mode at once, whatever the
// busy timeout.
const (
	openTries = 50
	openPause = 40 * time.Millisecond
)

// settle brings a connection's file to WAL mode and the current tables.
func settle(ctx context.Context, c *sql.Conn) error {
	err := migrate(ctx, c)
	for range openTries {
		if !busy(err) {
			return err
		}
		time.Sleep(openPause)
		err = migrate(ctx, c)
	}
	return err
}

// migrate makes the tables, unless another process has. It is one transaction.
func migrate(ctx context.Context, c *sql.Conn) error {
	if _, err := c.ExecContext(ctx, `PRAGMA journal_mode = WAL`); err != nil {
		return err
	}
	if current, err := isCurrent(ctx, c); current || err != nil {
		return err
	}
	if _, err := c.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	err := upgrade(ctx, c)
	if err == nil {
		_, err = c.ExecContext(ctx, `COMMIT`)
	}
	if err != nil {
		_, _ = c.ExecContext(ctx, `ROLLBACK`)
	}
	return err
}

// isCurrent reports whether the file has the tables that this relay knows.
func isCurrent(ctx context.Context, c *sql.Conn) (bool, error) {
	var version int
	if err := c.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return false, err
	}
	if version > schemaVersion {
		return false, fmt.Errorf("it was made by a newer relay (tables of version %d, this relay knows %d)", version, schemaVersion)
	}
	return version == schemaVersion, nil
}

func upgrade(ctx context.Context, c *sql.Conn) error {
	if current, err := isCurrent(ctx, c); current || err != nil {
		return err
	}
	_, err := c.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
	return err
}

// busy reports whether another connection was in the way.
func busy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}
