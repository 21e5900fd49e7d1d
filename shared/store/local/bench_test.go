package local_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"mcprelay/shared/store/local"
)

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
