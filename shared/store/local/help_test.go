package local_test

import (
	"crypto/rand"
	"time"

	"github.com/oklog/ulid/v2"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/session"
)

// record is a record as the relay writes it, about 700 bytes of JSON.
func record(tenant string) audit.Record { return recordAt(tenant, time.Now().UTC()) }

func recordAt(tenant string, at time.Time) audit.Record {
	return audit.Record{
		State: audit.StateIntent, CallID: ulid.MustNew(ulid.Timestamp(at), rand.Reader).String(), Tenant: tenant, Time: at,
		Agent: "ci", Kind: call.KindServiceToken, KeyID: "k1234567", Face: call.FaceMCP,
		Operation: call.OperationToolsCall, Server: "docs", Tool: "search", About: "search",
		Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		Policy:      call.PolicyNotRun, Rule: "mcp.docs.tool.*", Decision: call.Allow, ToolEffect: call.EffectWrite,
		ArgumentsBytes: 300, ArgumentsPreview: `{"query":"the quick brown fox jumps over the lazy dog","limit":10}`,
	}
}

// expired is a session that ended at a time.
func expired(at time.Time) session.State {
	return session.State{Era: session.Legacy, Version: "2025-11-25", SessionID: "s", Opened: at, Expires: at}
}
