// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

type benchMessage struct {
	name string
	pd   pprofile.Profiles
}

// benchMessages are encoded messages: canonical ones of the translator, and the same with all content twice, half of which
// Deduplicate removes.
func benchMessages(b *testing.B) []benchMessage {
	files := [][2]string{
		{"go-cpu-100KB", "../../testdata/pprof/cpu.pb.gz"},
		{"go-heap-600KB", "../../testdata/pprof/heap.pb.gz"},
	}
	if corpus := os.Getenv("OTELPPROF_CORPUS"); corpus != "" {
		for _, file := range [][2]string{
			{"ruby", "synth/synth-ruby.pb"},
			{"large", "synth/synth-large.pb"},
			{"apm-cpu-labels", "real/apm-mid-22labelsets.pgo"},
			{"compiler-pgo", "real/go-compile-default.pgo"},
			{"dd-big-heap", "real/ddgo-big-heap.pprof"},
		} {
			files = append(files, [2]string{file[0], filepath.Join(corpus, "pprof", file[1])})
		}
	} else {
		b.Log("OTELPPROF_CORPUS is not set: only the project's own profiles are measured")
	}
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	var messages []benchMessage
	for _, file := range files {
		payload, err := os.ReadFile(file[1])
		require.NoError(b, err)
		pd, _, err := decoder.Decode(payload, pprof.Source{})
		require.NoError(b, err)
		messages = append(messages, benchMessage{file[0], pd})
	}
	return messages
}

// BenchmarkDeduplicate measures a message of the translator, which has equal samples, against pdata's unmarshalling of it.
//
//	go test ./internal/dedup -run '^$' -bench '^Benchmark(Deduplicate|Doubled|Canonical)$' -benchmem -count 6 -cpu 2
func BenchmarkDeduplicate(b *testing.B) {
	for _, message := range benchMessages(b) {
		benchmarkOne(b, message.name, func() pprofile.Profiles { return clone(message.pd) })
	}
}

// BenchmarkDoubled measures a message with all content twice: half of it is removed.
func BenchmarkDoubled(b *testing.B) {
	for _, message := range benchMessages(b) {
		benchmarkOne(b, message.name, func() pprofile.Profiles {
			return dedup.Join([]pprofile.Profiles{clone(message.pd), clone(message.pd)})
		})
	}
}

// BenchmarkCanonical measures a message that is canonical already.
func BenchmarkCanonical(b *testing.B) {
	for _, message := range benchMessages(b) {
		canonical, _, err := dedup.New(dedup.Options{}).Deduplicate(clone(message.pd))
		require.NoError(b, err)
		benchmarkOne(b, message.name, func() pprofile.Profiles { return canonical })
	}
}

// benchmarkOne measures Deduplicate of the message that next returns against the unmarshalling of it. Deduplicate may
// change the message.
func benchmarkOne(b *testing.B, name string, next func() pprofile.Profiles) {
	b.Helper()
	encoded := profiletest.Marshal(b, next())
	deduplicator := dedup.New(dedup.Options{})
	b.Run("profile="+name+"/op=otelpprof", func(b *testing.B) {
		b.SetBytes(int64(len(encoded)))
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			pd := next()
			b.StartTimer()
			_, _, err := deduplicator.Deduplicate(pd)
			require.NoError(b, err)
		}
	})
	b.Run("profile="+name+"/op=unmarshal", func(b *testing.B) {
		b.SetBytes(int64(len(encoded)))
		b.ReportAllocs()
		for b.Loop() {
			_, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(encoded)
			require.NoError(b, err)
		}
	})
}

// The shape of the Collector's own benchmark of merging.
const (
	mergeStrings   = 2500
	mergeFunctions = 2000
	mergeLocations = 2000
	mergeStacks    = 4000
)

// mergeMessage makes message number n of a series. All messages have overlap percent of their entries in common.
func mergeMessage(n, overlap int) pprofile.Profiles {
	own := func(i, size int) int {
		if i*100 < overlap*size {
			return i
		}
		return i + (n+1)*1_000_000
	}
	pd := pprofile.NewProfiles()
	d := pd.Dictionary()
	d.StringTable().Append("")
	for i := 1; i < mergeStrings; i++ {
		d.StringTable().Append(fmt.Sprintf("example.com/app/package.(*Type).Method%d", own(i, mergeStrings)))
	}
	d.FunctionTable().AppendEmpty()
	for i := 1; i < mergeFunctions; i++ {
		f := d.FunctionTable().AppendEmpty()
		f.SetNameStrindex(int32(i))
		f.SetFilenameStrindex(int32(mergeFunctions + i%400))
		f.SetStartLine(int64(i))
	}
	d.MappingTable().AppendEmpty()
	for i := 1; i < 50; i++ {
		m := d.MappingTable().AppendEmpty()
		m.SetMemoryStart(uint64(i) << 20)
		m.SetMemoryLimit(uint64(i+1) << 20)
		m.SetFilenameStrindex(int32(i))
	}
	d.LocationTable().AppendEmpty()
	for i := 1; i < mergeLocations; i++ {
		l := d.LocationTable().AppendEmpty()
		l.SetAddress(uint64(own(i, mergeLocations)) << 4)
		l.SetMappingIndex(int32(1 + i%49))
		line := l.Lines().AppendEmpty()
		line.SetFunctionIndex(int32(i))
		line.SetLine(int64(i))
	}
	d.StackTable().AppendEmpty()
	for i := 1; i < mergeStacks; i++ {
		stack := d.StackTable().AppendEmpty()
		for j := range 20 {
			stack.LocationIndices().Append(int32(1 + (i*31+j*j*17+i/1999*j)%(mergeLocations-1)))
		}
	}
	d.AttributeTable().AppendEmpty()
	for i := 1; i < 30; i++ {
		a := d.AttributeTable().AppendEmpty()
		a.SetKeyStrindex(int32(i))
		a.Value().SetInt(int64(own(i, 30)))
	}
	d.LinkTable().AppendEmpty()
	resource := pd.ResourceProfiles().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", "checkout")
	profile := resource.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	profile.SampleType().SetTypeStrindex(1)
	profile.SampleType().SetUnitStrindex(2)
	for i := 1; i < mergeStacks; i++ {
		sample := profile.Samples().AppendEmpty()
		sample.SetStackIndex(int32(i))
		sample.Values().Append(1)
		sample.AttributeIndices().Append(int32(1 + i%29))
	}
	return pd
}

// BenchmarkMerge measures 50 messages becoming one: Join and Deduplicate, which also combines samples, against 49 calls
// of pdata's MergeTo.
//
//	go test ./internal/dedup -run '^$' -bench '^BenchmarkMerge$' -benchmem -count 6 -cpu 2
func BenchmarkMerge(b *testing.B) {
	deduplicator := dedup.New(dedup.Options{})
	for _, overlap := range []int{0, 50, 100} {
		const messages = 50
		series := make([]pprofile.Profiles, messages)
		for n := range series {
			series[n] = mergeMessage(n, overlap)
		}
		copies := func() []pprofile.Profiles {
			result := make([]pprofile.Profiles, messages)
			for n := range result {
				result[n] = clone(series[n])
			}
			return result
		}
		b.Run(fmt.Sprintf("profile=overlap-%d/op=otelpprof", overlap), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				fresh := copies()
				b.StartTimer()
				_, _, err := deduplicator.Deduplicate(dedup.Join(fresh))
				require.NoError(b, err)
			}
		})
		b.Run(fmt.Sprintf("profile=overlap-%d/op=mergeto", overlap), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				fresh := copies()
				b.StartTimer()
				whole := fresh[0]
				for _, pd := range fresh[1:] {
					require.NoError(b, pd.MergeTo(whole))
				}
			}
		})
	}
}

// BenchmarkMergeScale measures the cost of one message among many that become one. They are held until the last one has
// arrived, as in a batch, and each garbage collection scans all of them. Each measurement begins right after a collection,
// so that chance does not decide whether it includes one. Only cache misses grow with the number of messages, once the
// tables do not fit into the caches.
//
//	go test ./internal/dedup -run '^$' -bench '^BenchmarkMergeScale$' -benchmem -count 6 -cpu 2
func BenchmarkMergeScale(b *testing.B) {
	for _, messages := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("messages=%d", messages), func(b *testing.B) {
			deduplicator := dedup.New(dedup.Options{})
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				held := make([]pprofile.Profiles, messages)
				for n := range held {
					held[n] = mergeMessage(n, 50)
				}
				runtime.GC()
				b.StartTimer()
				_, _, err := deduplicator.Deduplicate(dedup.Join(held))
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*messages), "ns/message")
		})
	}
}
