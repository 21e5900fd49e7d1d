package local_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/store/local"
)

// record is an intent as the relay writes it, about 700 bytes of JSON.
func record(tenant string) audit.Record {
	now := time.Now().UTC()
	id := ulid.Make()
	_ = id.SetTime(ulid.Timestamp(now))
	return audit.Record{
		State: audit.StateIntent, CallID: id.String(), Tenant: tenant, Time: now,
		Agent: "ci", Kind: call.KindServiceToken, KeyID: "k1234567", Face: call.FaceMCP,
		Operation: call.OperationToolsCall, Server: "docs", Tool: "search", About: "search",
		Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		Policy:      call.PolicyNotRun, Rule: "mcp.docs.tool.*", Decision: call.Allow, ToolEffect: call.EffectWrite,
		ArgumentsBytes: 300, ArgumentsPreview: `{"query":"the quick brown fox jumps over the lazy dog","limit":10}`,
	}
}

// BenchmarkAuditWrite gives the time of one audit write as its caller sees it
// (ns/op under one writer) and what one costs the process under eight.
func BenchmarkAuditWrite(b *testing.B) {
	for _, kind := range []string{"intent", "final"} {
		for _, writers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/%d writers", kind, writers), func(b *testing.B) {
				store, err := local.Open(b.TempDir())
				if err != nil {
					b.Fatal(err)
				}
				defer store.Close()
				write := store.Intent
				if kind == "final" {
					write = store.Final
				}
				var left atomic.Int64
				left.Store(int64(b.N))
				b.ResetTimer()
				var wg sync.WaitGroup
				for range writers {
					wg.Go(func() {
						for left.Add(-1) >= 0 {
							if err := write(context.Background(), record("acme")); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs/write")
			})
		}
	}
}
