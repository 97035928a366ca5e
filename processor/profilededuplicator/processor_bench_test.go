// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/processor/xprocessor"

	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// discard is a next consumer that accepts all messages and keeps none.
type discard struct{ sink }

func (*discard) ConsumeProfiles(context.Context, pprofile.Profiles) error { return nil }

func startBench(b *testing.B, change func(*Config)) xprocessor.Profiles {
	b.Helper()
	f := startWithin(b, 64<<30, &sink{}, change) // large batches are measured, not refused
	d := f.Profiles.(*deduplicator)
	d.next = &discard{}
	if d.batching != nil {
		d.batching.next = &discard{}
	}
	return f
}

// BenchmarkBatch measures a batch from the first message to the delivery. memory-ratio is the memory at the end of the flush, before
// a garbage collection, divided by that of the held messages.
//
//	go test -bench Batch -benchmem -count 6 ./processor/profilededuplicator
func BenchmarkBatch(b *testing.B) {
	messages := ownMessages(b)
	for _, name := range []string{"pprof/cpu.pb.gz", "pprof/heap.pb.gz", "pprof/labelled.pb.gz"} {
		for _, count := range []int{10, 50, 200} {
			if count*len(messages[name]) > 100_000_000 {
				continue
			}
			b.Run(fmt.Sprintf("profile=%s/messages=%d/op=batch", path.Base(name), count), func(b *testing.B) {
				benchmarkBatch(b, messages[name], count)
			})
		}
	}
}

func copies(b *testing.B, message []byte, count int) []pprofile.Profiles {
	b.Helper()
	held := make([]pprofile.Profiles, count)
	for i := range held {
		held[i] = profiletest.Unmarshal(b, message)
	}
	return held
}

func benchmarkBatch(b *testing.B, message []byte, count int) {
	b.Helper()
	b.SetBytes(int64(count * len(message)))
	b.ReportAllocs()
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	ratio := 0.0
	for b.Loop() {
		b.StopTimer()
		p := startBench(b, batchOf(func(cfg *BatchConfig) {
			cfg.Timeout, cfg.MaxSamples, cfg.MaxBytes, cfg.MaxHeldBytes = time.Hour, 0, 0, 1<<40
		}))
		base := memorytest.LiveHeap()
		held := copies(b, message, count)
		full := memorytest.LiveHeap()
		debug.SetGCPercent(-1)
		b.StartTimer()
		for i, pd := range held {
			held[i] = pprofile.Profiles{}
			require.NoError(b, p.ConsumeProfiles(b.Context(), pd))
		}
		require.NoError(b, p.(*fixture).Profiles.(*deduplicator).batching.stop(b.Context()))
		b.StopTimer()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		ratio += float64(int64(stats.HeapAlloc)-base) / float64(full-base)
		debug.SetGCPercent(100)
		b.StartTimer()
	}
	b.ReportMetric(ratio/float64(b.N), "memory-ratio")
}
