-- A data file as a relay of version 3 of the tables left it.
BEGIN TRANSACTION;
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
INSERT INTO "audit" VALUES('03PFDE3448041061050R3GG28A','acme',0,4071006245000000000,'ci','docs','search','run-1','','{"state":"intent","call_id":"03PFDE3448041061050R3GG28A","tenant":"acme","time":"2099-01-02T03:04:05Z","agent":"ci","kind":"service_token","operation":"tools/call","server":"docs","tool":"search","about":"search","run":"run-1","policy":"not_run","decision":"allow","tool_effect":"write","duration_ms":0}');
INSERT INTO "audit" VALUES('03PFDE353G1C60T3GF208H44RM','acme',1,4071006246000000000,'ci','docs','search','run-1','answered','{"state":"final","call_id":"03PFDE353G1C60T3GF208H44RM","tenant":"acme","time":"2099-01-02T03:04:06Z","agent":"ci","kind":"service_token","operation":"tools/call","server":"docs","tool":"search","about":"search","run":"run-1","policy":"not_run","decision":"allow","tool_effect":"write","outcome":"answered","reason":"ok","stage":"call","effect":"done","duration_ms":0}');
CREATE TABLE catalogs (
	tenant  TEXT NOT NULL,
	server  TEXT NOT NULL,
	version INTEGER NOT NULL,
	body    BLOB NOT NULL,
	PRIMARY KEY (tenant, server)
);
INSERT INTO "catalogs" VALUES('acme','docs',7,CAST('{"origin":"o","acquired":"2099-01-02T03:04:05Z","tools":[{"name":"search","raw":"eyJuYW1lIjoic2VhcmNoIn0="}]}' AS BLOB));
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
INSERT INTO "idempotency" VALUES('I#6oLDOyaZ80jDrGgX0rQBvGW0Zul2O0lS3ssm4tGOi2Y',2,'d','03PFDE353G1C60T3GF208H44RM','done',4071006305000000000,4071092645000000000,CAST('{"kept":true}' AS BLOB));
CREATE TABLE registry (
	tenant TEXT NOT NULL,
	kind   TEXT NOT NULL,
	name   TEXT NOT NULL,
	rev    INTEGER NOT NULL,
	body   TEXT NOT NULL,
	PRIMARY KEY (tenant, kind, name)
);
INSERT INTO "registry" VALUES('acme','rules','',1,'[]');
CREATE TABLE state (
	key     TEXT PRIMARY KEY,
	ver     INTEGER NOT NULL,
	expires INTEGER NOT NULL, -- seconds since 1970
	body    TEXT NOT NULL
, run TEXT NOT NULL DEFAULT '', closes INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
INSERT INTO "state" VALUES('O#1bYlOUNhb8tr1D-CPyoefcZnqHG2SH4VxC6WfqMGbYQ',1796046281400902,4071009845,'{"era":"legacy","version":"2025-11-25","opened":"2099-01-02T03:04:05Z","expires":"2099-01-02T04:04:05Z","ver":1796046281400902}','',0);
INSERT INTO "state" VALUES('S#_yXjKm4h5maKARvlIEvjVCCUYCGWdIEjlK2HoTaKtfo',1796046281400788,4071009845,'{"era":"legacy","version":"2025-11-25","session_id":"kept","opened":"2099-01-02T03:04:05Z","expires":"2099-01-02T04:04:05Z","owner":{"tenant":"acme","server":"docs","subject":"ci","kind":"user","run":"run-1"},"ver":1796046281400788}','R#TbicPOTwDiuuAJKHVforhbzix0jptl5C0aXEJsJfec0',4071182645);
CREATE TABLE tokens (
	key_id TEXT PRIMARY KEY,
	hash   TEXT NOT NULL,
	record TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO "tokens" VALUES('LMNOPQRS','5ae604c950d5e258b34835f1cfa9b779331d5022e24fd9a6b3aff7ca421aaf23','{"key_id":"LMNOPQRS","hash":"5ae604c950d5e258b34835f1cfa9b779331d5022e24fd9a6b3aff7ca421aaf23","tenant":"acme","subject":"ci","kind":"service_token","scopes":null,"created":"2099-01-02T03:04:05Z","expires":"2099-01-02T04:04:05Z"}');
CREATE INDEX audit_call ON audit (call_id, tenant, agent, server, run);
CREATE TRIGGER audit_once BEFORE INSERT ON audit BEGIN
	SELECT RAISE(IGNORE) WHERE EXISTS (SELECT 1 FROM audit WHERE call_id = NEW.call_id AND tenant = NEW.tenant);
END;
CREATE INDEX state_expires ON state (expires);
CREATE INDEX state_run ON state (run) WHERE run <> '';
CREATE INDEX state_closes ON state (expires) WHERE closes > 0;
CREATE INDEX idempotency_expires ON idempotency (expires);
COMMIT;
PRAGMA user_version = 3;
