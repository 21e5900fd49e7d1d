package local

import (
	"context"
	"database/sql"
)

// statements are prepared once for the writer's connection.
type statements struct {
	begin, commit, rollback *sql.Stmt
	insert, complete        *sql.Stmt // of records
	record                  *sql.Stmt
	open, renew, aside      *sql.Stmt // of sessions
	addDocument, setDocument, issuers,
	putToken *sql.Stmt
	addCatalog, setCatalog             *sql.Stmt
	beginKey, findKey, endKey, freeKey *sql.Stmt // of idempotency
	addTurn, setTurn                   *sql.Stmt
	addCount, subCount                 *sql.Stmt
}

// prepareAll prepares every statement; one that fails is the error.
func prepareAll(ctx context.Context, c *sql.Conn) (*statements, error) {
	var s statements
	for target, query := range map[**sql.Stmt]string{
		&s.begin:    `BEGIN IMMEDIATE`,
		&s.commit:   `COMMIT`,
		&s.rollback: `ROLLBACK`,
		&s.insert: `INSERT INTO audit (call_id, tenant, final, time, agent, server, tool, run, outcome, record)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		// What an intent says of the call's identity stays.
		&s.complete: `UPDATE audit SET final = 1, tool = ?3, outcome = ?4, record = ?5
			WHERE call_id = ?1 AND tenant = ?2 AND final = 0`,
		&s.record: `SELECT record FROM audit WHERE call_id = ? AND tenant = ?`,
		&s.open: `INSERT INTO state (key, ver, expires, body, run, closes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
			ON CONFLICT (key) DO UPDATE SET ver = excluded.ver, expires = excluded.expires, body = excluded.body,
				run = excluded.run, closes = excluded.closes
			WHERE state.expires <= ?7`,
		&s.renew: `UPDATE state SET ver = ?2, expires = ?3, body = ?4, run = ?5, closes = ?6 WHERE key = ?1 AND ver = ?7`,
		&s.aside: `INSERT INTO state (key, ver, expires, body, run, closes)
			SELECT ?3, -ver, expires, body, run, closes FROM state WHERE key = ?1 AND ver = ?2
			ON CONFLICT DO NOTHING`,
		&s.addDocument: `INSERT INTO registry (tenant, kind, name, rev, body) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING`,
		&s.setDocument: `UPDATE registry SET rev = ?4, body = ?5 WHERE tenant = ?1 AND kind = ?2 AND name = ?3 AND rev = ?4 - 1`,
		&s.issuers:     `SELECT body FROM registry WHERE kind = 'issuer' AND name = ? AND tenant <> ?`,
		&s.addCatalog:  `INSERT INTO catalogs (tenant, server, version, body) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING`,
		&s.setCatalog:  `UPDATE catalogs SET version = ?3, body = ?4 WHERE tenant = ?1 AND server = ?2 AND version = ?3 - 1`,
		&s.beginKey: `INSERT INTO idempotency (key, ver, digest, call_id, state, until, expires, reply)
			VALUES (?1, 1, ?2, ?3, 'running', ?4, ?5, x'')
			ON CONFLICT (key) DO UPDATE SET ver = 1, digest = excluded.digest, call_id = excluded.call_id,
				state = excluded.state, until = excluded.until, expires = excluded.expires, reply = excluded.reply
			WHERE idempotency.expires <= ?6`,
		&s.findKey: `SELECT ver, digest, call_id, state, until, expires, reply FROM idempotency WHERE key = ? AND expires > ?`,
		&s.endKey: `UPDATE idempotency SET ver = ver + 1, state = 'done', digest = ?3, until = ?4, expires = ?5, reply = ?6
			WHERE key = ?1 AND call_id = ?2 AND state = 'running'`,
		&s.freeKey: `DELETE FROM idempotency WHERE key = ?1 AND call_id = ?2 AND state = 'running'`,
		&s.addTurn: `INSERT INTO turns (key, ver, expires, body) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (key) DO UPDATE SET ver = excluded.ver, expires = excluded.expires, body = excluded.body
			WHERE turns.expires <= ?5`,
		&s.setTurn: `UPDATE turns SET ver = ?2, expires = ?3, body = ?4 WHERE key = ?1 AND ver = ?5`,
		&s.addCount: `INSERT INTO counters (key, count, expires) VALUES (?1, 1, ?3)
			ON CONFLICT (key) DO UPDATE SET count = iif(expires <= ?4, 1, count + 1), expires = excluded.expires
			WHERE expires <= ?4 OR count < ?2`,
		&s.subCount: `UPDATE counters SET count = count - 1 WHERE key = ?1 AND count > 0 AND expires > ?2`,
		&s.putToken: `INSERT INTO tokens (key_id, hash, record) VALUES (?, ?, ?)
			ON CONFLICT (key_id) DO UPDATE SET record = excluded.record WHERE hash = excluded.hash`,
	} {
		statement, err := c.PrepareContext(ctx, query)
		if err != nil {
			return nil, err
		}
		*target = statement
	}
	return &s, nil
}

// changed runs a statement and reports whether it changed a row.
func changed(ctx context.Context, s *sql.Stmt, args ...any) (bool, error) {
	result, err := s.ExecContext(ctx, args...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}
