// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"maps"
	"path"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// ownMessages returns the profiles of testdata/pprof as OTLP bytes.
func ownMessages(tb testing.TB) map[string][]byte {
	tb.Helper()
	messages := map[string][]byte{}
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	for _, file := range profiletest.OwnPprofs(tb) {
		pd, _, err := decoder.Decode(file.Bytes(tb), pprof.Source{})
		require.NoError(tb, err)
		messages[file.Name] = marshal(tb, pd)
	}
	return messages
}

func marshal(tb testing.TB, pd pprofile.Profiles) []byte {
	tb.Helper()
	message, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(pd)
	require.NoError(tb, err)
	return message
}

func unmarshal(tb testing.TB, message []byte) pprofile.Profiles {
	tb.Helper()
	pd, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(message)
	require.NoError(tb, err)
	return pd
}

// hostileMessages returns messages that are small on the wire and large in memory, each for a different reason.
func hostileMessages(tb testing.TB) map[string][]byte {
	tb.Helper()
	messages := map[string][]byte{}
	add := func(name string, fill func(pprofile.Profiles, pprofile.Profile)) {
		pd := pprofile.NewProfiles()
		fill(pd, pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty())
		messages[name] = marshal(tb, pd)
	}
	const n = 20_000
	add("samples without anything", func(_ pprofile.Profiles, p pprofile.Profile) {
		for range n {
			p.Samples().AppendEmpty()
		}
	})
	add("values", func(_ pprofile.Profiles, p pprofile.Profile) {
		p.Samples().AppendEmpty().Values().FromRaw(make([]int64, n))
	})
	add("locations", func(pd pprofile.Profiles, _ pprofile.Profile) {
		for range n {
			pd.Dictionary().LocationTable().AppendEmpty().Lines().AppendEmpty()
		}
	})
	add("entries of tables", func(pd pprofile.Profiles, _ pprofile.Profile) {
		for range n {
			pd.Dictionary().MappingTable().AppendEmpty()
			pd.Dictionary().FunctionTable().AppendEmpty()
			pd.Dictionary().AttributeTable().AppendEmpty()
			pd.Dictionary().StackTable().AppendEmpty()
			pd.Dictionary().LinkTable().AppendEmpty()
			pd.Dictionary().StringTable().Append("")
		}
	})
	add("nested attributes", func(pd pprofile.Profiles, _ pprofile.Profile) {
		list := pd.ResourceProfiles().At(0).Resource().Attributes().PutEmptySlice("list")
		for range n {
			list.AppendEmpty().SetEmptyMap().PutEmptySlice("").AppendEmpty().SetBool(true)
		}
	})
	add("profiles", func(pd pprofile.Profiles, _ pprofile.Profile) {
		for range n {
			pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
		}
	})
	return messages
}

// The estimate must be about right for any message, since it limits the held bytes. The bounds allow for the unused capacity
// of slices, which depends on how they grew.
func TestMemoryEstimate(t *testing.T) {
	messages := ownMessages(t)
	maps.Copy(messages, hostileMessages(t))
	for name, message := range messages {
		count := 1 + 1_000_000/len(message)
		held := make([]pprofile.Profiles, count)
		before := heap()
		for i := range held {
			held[i] = unmarshal(t, message)
		}
		actual := float64(heap()-before) / float64(count)
		estimate := float64(memoryOf(held[0]))
		t.Logf("%-30s %8d bytes on the wire, %9.0f in memory, estimated %9.0f", name, len(message), actual, estimate)
		assert.InDelta(t, 1, estimate/actual, 0.35, name)
		runtime.KeepAlive(held)
	}
}

// heap returns the live heap in bytes.
func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func BenchmarkMemoryOf(b *testing.B) {
	for name, message := range ownMessages(b) {
		b.Run("profile="+path.Base(name), func(b *testing.B) {
			pd := unmarshal(b, message)
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			for b.Loop() {
				memoryOf(pd)
			}
		})
	}
}
