package audit_test

import (
	"os"
	"testing"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
)

// BenchmarkLog is the cost of one canonical line to a file that takes anything.
func BenchmarkLog(b *testing.B) {
	sink, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer sink.Close()
	log := audit.NewLog(sink, 0)
	r := audit.Begin(theCall())
	r.Decide("search", call.Decision{Verdict: call.Allow, Rule: "mcp.docs.tool.*", Effect: call.EffectRead})
	r.Host, r.Address, r.Status, r.Posts, r.Era, r.ProtocolVersion = "mcp.example.com", "93.184.216.34:443", 200, 1, "modern", "2026-07-28"
	r.ArgumentsPreview = `{"query":"relay"}`
	r.Answer(call.OK)
	r.Finish(r.Time.Add(time.Millisecond))
	b.ReportAllocs()
	for b.Loop() {
		_ = log.Record(&r)
	}
}
