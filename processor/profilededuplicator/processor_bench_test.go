// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/processor/xprocessor"

	"github.com/otelpprof/otelpprof/internal/dedup"
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
		d.batching.deliverer.next = &discard{}
	}
	return f
}

// BenchmarkConsume compares the time of the processor with that of dedup.Deduplicator alone, and with the unmarshalling by
// pdata. One message is canonical and does not change. In the other one, each entry of a table appears twice.
//
//	go test -bench Consume -benchmem -count 6 ./processor/profilededuplicator | benchstat -col /op -
func BenchmarkConsume(b *testing.B) {
	core := dedup.New(dedup.Options{})
	for name, message := range ownMessages(b) {
		twice := profiletest.Unmarshal(b, message)
		dedup.Concat(twice, profiletest.Unmarshal(b, message))
		for state, message := range map[string][]byte{"canonical": message, "twice": profiletest.Marshal(b, twice)} {
			run := func(op string, do func(pprofile.Profiles)) {
				b.Run(fmt.Sprintf("profile=%s/state=%s/op=%s", path.Base(name), state, op), func(b *testing.B) {
					b.SetBytes(int64(len(message)))
					b.ReportAllocs()
					pd := profiletest.Unmarshal(b, message)
					for b.Loop() {
						if state == "twice" {
							b.StopTimer()
							pd = profiletest.Unmarshal(b, message)
							b.StartTimer()
						}
						do(pd)
					}
				})
			}
			b.Run(fmt.Sprintf("profile=%s/state=%s/op=unmarshal", path.Base(name), state), func(b *testing.B) {
				b.SetBytes(int64(len(message)))
				b.ReportAllocs()
				for b.Loop() {
					profiletest.Unmarshal(b, message)
				}
			})
			run("core", func(pd pprofile.Profiles) { _, _, _ = core.Deduplicate(pd) })
			p := startBench(b, nil)
			run("processor", func(pd pprofile.Profiles) { require.NoError(b, p.ConsumeProfiles(b.Context(), pd)) })
			p = startBench(b, repeatedOf(func(cfg *Config) { cfg.DropRepeated.Get().TTL = 1 }))
			run("processor-repeated", func(pd pprofile.Profiles) { require.NoError(b, p.ConsumeProfiles(b.Context(), pd)) })
		}
	}
}

// BenchmarkBatch measures a batch from the first message to the delivery, and for comparison the joining of the messages
// with pdata. memory-ratio is the memory at the end of the flush, before a garbage collection, divided by that of the held
// messages.
//
//	go test -bench Batch -benchmem -count 6 ./processor/profilededuplicator
func BenchmarkBatch(b *testing.B) {
	messages := ownMessages(b)
	for _, name := range []string{"pprof/cpu.pb.gz", "pprof/heap.pb.gz", "pprof/labelled.pb.gz"} {
		for _, count := range []int{10, 50, 200} {
			if count*len(messages[name]) > 100_000_000 {
				continue
			}
			prefix := fmt.Sprintf("profile=%s/messages=%d", path.Base(name), count)
			b.Run(prefix+"/op=mergeto", func(b *testing.B) {
				b.SetBytes(int64(count * len(messages[name])))
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					held := copies(b, messages[name], count)
					b.StartTimer()
					for _, pd := range held[1:] {
						require.NoError(b, pd.MergeTo(held[0]))
					}
				}
			})
			b.Run(prefix+"/op=batch", func(b *testing.B) { benchmarkBatch(b, messages[name], count) })
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
		require.NoError(b, p.(*fixture).Profiles.(*deduplicator).batching.batches.stop(b.Context()))
		b.StopTimer()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		ratio += float64(int64(stats.HeapAlloc)-base) / float64(full-base)
		debug.SetGCPercent(100)
		b.StartTimer()
	}
	b.ReportMetric(ratio/float64(b.N), "memory-ratio")
}

// BenchmarkWaitForResult measures the messages per second and the latency for senders that send one message after the other.
// The next consumer accepts each batch at once, as a queue does.
//
//	go test -bench WaitForResult -benchtime 3s ./processor/profilededuplicator
func BenchmarkWaitForResult(b *testing.B) {
	message := ownMessages(b)["pprof/goroutine.pb.gz"]
	for _, wait := range []bool{false, true} {
		for _, senders := range []int{1, 64, 1000} {
			b.Run(fmt.Sprintf("wait=%t/senders=%d", wait, senders), func(b *testing.B) {
				p := startBench(b, waitOf(func(cfg *BatchConfig) { cfg.WaitForResult, cfg.MaxHeldBytes = wait, 1<<30 }))
				benchmarkSenders(b, p, message, senders)
			})
		}
	}
}

func benchmarkSenders(b *testing.B, p xprocessor.Profiles, message []byte, senders int) {
	b.Helper()
	b.SetBytes(int64(len(message)))
	took := make([]time.Duration, b.N)
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range senders {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
				pd := profiletest.Unmarshal(b, message)
				begin := time.Now()
				for p.ConsumeProfiles(b.Context(), pd) != nil {
					runtime.Gosched() // refused: messages come faster than batches are flushed
				}
				took[i] = time.Since(begin)
			}
		})
	}
	all.Wait()
	require.NoError(b, p.(*fixture).Profiles.(*deduplicator).batching.batches.stop(b.Context())) // The measured time includes the held messages.
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-p99")
}
