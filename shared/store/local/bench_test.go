package local_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"mcprelay/shared/audit"
	"mcprelay/shared/store/local"
)

// BenchmarkFinal gives the time of a final as its caller sees it (ns/op under
// one writer), with what folding it costs, and what one costs the process
// under several writers.
func BenchmarkFinal(b *testing.B) { benchmarkWrites(b, (*local.Store).Final) }

// BenchmarkIntent is the same of intents, each of which waits for the disk.
func BenchmarkIntent(b *testing.B) { benchmarkWrites(b, (*local.Store).Intent) }

func benchmarkWrites(b *testing.B, write func(*local.Store, context.Context, audit.Record) error) {
	for _, writers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("%d writers", writers), func(b *testing.B) {
			store, err := local.Open(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			r := record("acme")
			var n atomic.Int64
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for range writers {
				wg.Go(func() {
					for i := n.Add(1); i <= int64(b.N); i = n.Add(1) {
						r := r
						r.CallID = numbered(i)
						if err := write(store, context.Background(), r); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			if err := store.Close(); err != nil {
				b.Error(err)
			}
		})
	}
}

// numbered is a call id of now that costs less than a random one.
func numbered(n int64) string {
	var id ulid.ULID
	_ = id.SetTime(ulid.Timestamp(time.Now()))
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id.String()
}
