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

// schemaVersion is the user_version of the file: how many of the steps its
// tables have been through. Versions that exist never change; a change of the
// tables is a step more.
const schemaVersion = 4

// steps make the tables, each those of its version out of those before.
var steps = [schemaVersion]string{tables, closingAndCatalogs, idempotencyKeys, turnsAndCounters}

// The tables. A record costs two pages: its row at the end of the table, and
// an entry at the end of the one index, since call ids begin with the time.
// That takes 52 µs alone; with UNIQUE and an index each for agent and server
// it took 72. The index holds what most filters ask for, so that a scan for
// them reads 100 bytes a call and not the record. That an id is new is seen to
// by the trigger, whose transaction is the only one that writes; the same
// question inside the INSERT makes SQLite build a temporary table (58 µs).
const tables = `
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
	record  TEXT NOT NULL
);
CREATE INDEX audit_call ON audit (call_id, tenant, agent, server, run);
CREATE TRIGGER audit_once BEFORE INSERT ON audit BEGIN
	SELECT RAISE(IGNORE) WHERE EXISTS (SELECT 1 FROM audit WHERE call_id = NEW.call_id AND tenant = NEW.tenant);
END;
CREATE TABLE state (
	key     TEXT PRIMARY KEY,
	ver     INTEGER NOT NULL,
	expires INTEGER NOT NULL, -- seconds since 1970
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

// Sessions that must be closed, found by their run and by their expiry; those
// of version 1 stay out, since nobody could tell who opened them. And catalogs,
// a row each: SQLite replaces one whole, and none is looked into.
const closingAndCatalogs = `
ALTER TABLE state ADD COLUMN run TEXT NOT NULL DEFAULT '';
ALTER TABLE state ADD COLUMN closes INTEGER NOT NULL DEFAULT 0; -- seconds since 1970: how long it can be; 0: no session
CREATE INDEX state_run ON state (run) WHERE run <> '';
CREATE INDEX state_closes ON state (expires) WHERE closes > 0;
CREATE TABLE catalogs (
	tenant  TEXT NOT NULL,
	server  TEXT NOT NULL,
	version INTEGER NOT NULL,
	body    BLOB NOT NULL,
	PRIMARY KEY (tenant, server)
);
`

// The records of idempotency keys. Those of before had none. Catalogs stay as
// they are: a body says by itself which format it has, since a relay that is
// still running may write one of before.
const idempotencyKeys = `
CREATE TABLE idempotency (
	key     TEXT PRIMARY KEY,
	ver     INTEGER NOT NULL,
	digest  TEXT NOT NULL,
	call_id TEXT NOT NULL,
	state   TEXT NOT NULL,
	until   INTEGER NOT NULL, -- nanoseconds since 1970, as the next one
	expires INTEGER NOT NULL,
	reply   BLOB NOT NULL
);
CREATE INDEX idempotency_expires ON idempotency (expires);
`

// The present turns of runs, and the calls that were counted in a window. Those
// of before had neither.
const turnsAndCounters = `
CREATE TABLE turns (
	key     TEXT PRIMARY KEY,
	ver     INTEGER NOT NULL,
	expires INTEGER NOT NULL, -- nanoseconds since 1970: when it is forgotten
	body    TEXT NOT NULL
);
CREATE INDEX turns_expires ON turns (expires);
CREATE TABLE counters (
	key     TEXT PRIMARY KEY,
	count   INTEGER NOT NULL,
	expires INTEGER NOT NULL -- nanoseconds since 1970
) WITHOUT ROWID;
CREATE INDEX counters_expires ON counters (expires);
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
	version, err := taken(ctx, c)
	if err == nil && version > schemaVersion {
		err = fmt.Errorf("it was made by a newer relay (tables of version %d, this relay knows %d)", version, schemaVersion)
	}
	return version == schemaVersion, err
}

// taken is how many steps the file has been through.
func taken(ctx context.Context, c *sql.Conn) (version int, err error) {
	err = c.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version)
	return version, err
}

// upgrade takes the steps that the file lacks.
func upgrade(ctx context.Context, c *sql.Conn) error {
	if current, err := isCurrent(ctx, c); current || err != nil {
		return err
	}
	version, err := taken(ctx, c)
	for ; err == nil && version < schemaVersion; version++ {
		_, err = c.ExecContext(ctx, steps[version]+fmt.Sprintf("PRAGMA user_version = %d", version+1))
	}
	return err
}

// begun reports that the file at path has no tables yet, or is no database.
func begun(path string) (err error) {
	db, err := sql.Open("sqlite", source(path, "query_only(1)"))
	if err != nil {
		return fmt.Errorf("opening %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var version int
	if err := db.QueryRow(`PRAGMA user_version`).Scan(&version); err != nil {
		return fmt.Errorf("opening %s: %w", path, err)
	}
	if version == 0 {
		return noStore(path)
	}
	return nil
}

// busy reports whether another connection was in the way.
func busy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}
