// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
	"github.com/otelpprof/otelpprof/processor/profilededuplicator/internal/metadata"
	"github.com/otelpprof/otelpprof/processor/profilededuplicator/internal/metadatatest"
)

// requireSize checks the size of a message against that of pdata, and the bound that saves measuring it.
func requireSize(t require.TestingT, pd pprofile.Profiles) {
	want := (&pprofile.ProtoMarshaler{}).ProfilesSize(pd)
	require.Equal(t, want, contentOf(pd).bytes)
	require.False(t, exceeds(pd, want))
	require.True(t, exceeds(pd, want-1))
	require.LessOrEqual(t, tablesBytes(pd), tablesField+tablesRatio*dictionary.MemoryOf(pd.Dictionary()))
}

func withMetrics(t *testing.T) *deduplicator {
	t.Helper()
	telemetry := componenttest.NewTelemetry()
	t.Cleanup(func() { assert.NoError(t, telemetry.Shutdown(context.Background())) })
	return deduplicatorOf(t, metadatatest.NewSettings(telemetry), nil)
}

func withoutMetrics(t *testing.T, change func(*Config)) *deduplicator {
	t.Helper()
	return deduplicatorOf(t, processortest.NewNopSettings(metadata.Type), change)
}

func deduplicatorOf(t *testing.T, set processor.Settings, change func(*Config)) *deduplicator {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	if change != nil {
		change(cfg)
	}
	d, err := newDeduplicator(set, cfg, service{&sink{}})
	require.NoError(t, err)
	return d
}

func TestSizeOfAnyMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		pd := gen.Disarrange(gen.Profiles().Draw(t, "message"), random)
		if rapid.Bool().Draw(t, "broken") {
			gen.Break(pd, rapid.SampledFrom(gen.Faults()).Draw(t, "fault"), random)
		}
		requireSize(t, pd)
	})
}

func TestSizeOfLargeAndHostileMessages(t *testing.T) {
	messages := ownMessages(t)
	maps.Copy(messages, profiletest.HostileMessages(t, 20_000))
	for name, message := range messages {
		t.Run(name, func(t *testing.T) { requireSize(t, profiletest.Unmarshal(t, message)) })
	}
}

// TestSizeOfExtremeEntries: the bound holds for each entry on its own, with the largest numbers in each field, and for an entry
// without any field.
func TestSizeOfExtremeEntries(t *testing.T) {
	const n = 1000 // so that the rest of the message does not matter
	fillIndices := func(list pcommon.Int32Slice) {
		for range 10 {
			list.Append(-1)
		}
	}
	for name, add := range map[string]func(d pprofile.ProfilesDictionary){
		"empty string":    func(d pprofile.ProfilesDictionary) { d.StringTable().Append("") },
		"string":          func(d pprofile.ProfilesDictionary) { d.StringTable().Append("a string of some length") },
		"empty function":  func(d pprofile.ProfilesDictionary) { d.FunctionTable().AppendEmpty() },
		"empty mapping":   func(d pprofile.ProfilesDictionary) { d.MappingTable().AppendEmpty() },
		"empty location":  func(d pprofile.ProfilesDictionary) { d.LocationTable().AppendEmpty() },
		"empty line":      func(d pprofile.ProfilesDictionary) { d.LocationTable().AppendEmpty().Lines().AppendEmpty() },
		"empty stack":     func(d pprofile.ProfilesDictionary) { d.StackTable().AppendEmpty() },
		"empty attribute": func(d pprofile.ProfilesDictionary) { d.AttributeTable().AppendEmpty() },
		"empty link":      func(d pprofile.ProfilesDictionary) { d.LinkTable().AppendEmpty() },
		"function": func(d pprofile.ProfilesDictionary) {
			function := d.FunctionTable().AppendEmpty()
			function.SetNameStrindex(-1)
			function.SetSystemNameStrindex(-1)
			function.SetFilenameStrindex(-1)
			function.SetStartLine(-1)
		},
		"mapping": func(d pprofile.ProfilesDictionary) {
			mapping := d.MappingTable().AppendEmpty()
			mapping.SetMemoryStart(math.MaxUint64)
			mapping.SetMemoryLimit(math.MaxUint64)
			mapping.SetFileOffset(math.MaxUint64)
			mapping.SetFilenameStrindex(-1)
			fillIndices(mapping.AttributeIndices())
		},
		"location": func(d pprofile.ProfilesDictionary) {
			location := d.LocationTable().AppendEmpty()
			location.SetMappingIndex(-1)
			location.SetAddress(math.MaxUint64)
			fillIndices(location.AttributeIndices())
			line := location.Lines().AppendEmpty()
			line.SetFunctionIndex(-1)
			line.SetLine(-1)
			line.SetColumn(-1)
		},
		"stack": func(d pprofile.ProfilesDictionary) { fillIndices(d.StackTable().AppendEmpty().LocationIndices()) },
		"link": func(d pprofile.ProfilesDictionary) {
			link := d.LinkTable().AppendEmpty()
			link.SetTraceID([16]byte{1})
			link.SetSpanID([8]byte{1})
		},
		"number": func(d pprofile.ProfilesDictionary) {
			attribute := d.AttributeTable().AppendEmpty()
			attribute.SetKeyStrindex(-1)
			attribute.SetUnitStrindex(-1)
			attribute.Value().SetInt(-1)
		},
		"text": func(d pprofile.ProfilesDictionary) { d.AttributeTable().AppendEmpty().Value().SetStr("a text") },
		"bytes": func(d pprofile.ProfilesDictionary) {
			d.AttributeTable().AppendEmpty().Value().SetEmptyBytes().Append(1, 2)
		},
		"list": func(d pprofile.ProfilesDictionary) {
			d.AttributeTable().AppendEmpty().Value().SetEmptySlice().AppendEmpty().SetInt(-1)
		},
		"map": func(d pprofile.ProfilesDictionary) {
			inner := d.AttributeTable().AppendEmpty().Value().SetEmptyMap().PutEmptyMap("k")
			inner.PutInt("a", -1)
			inner.PutEmpty("b")
		},
	} {
		t.Run(name, func(t *testing.T) {
			pd := pprofile.NewProfiles()
			for range n {
				add(pd.Dictionary())
			}
			requireSize(t, pd)
		})
	}
}

// TestOutgoingSize: the size of a message after deduplication is right, whether the tables have changed or not.
func TestOutgoingSize(t *testing.T) {
	d := withMetrics(t)
	rapid.Check(t, func(t *rapid.T) {
		pd := gen.Profiles().Draw(t, "message")
		if rapid.Bool().Draw(t, "disarranged") {
			pd = gen.Disarrange(pd, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		}
		m := d.measure(t.Context(), pd)
		require.Equal(t, contentOf(pd), m.content)
		var stats dedup.Stats
		var err error
		m.profiles, stats, err = dedup.New(dedup.Options{}).Deduplicate(pd)
		require.NoError(t, err)
		require.Equal(t, contentOf(m.profiles), m.outgoing(&stats))
	})
}

// TestWithoutMetrics: without metrics, no bytes are measured, but a limit holds. With a batch, they are.
func TestWithoutMetrics(t *testing.T) {
	pd := upload("checkout", 1, 3, 4)
	silent := withoutMetrics(t, nil)
	m := silent.measure(t.Context(), pd)
	assert.Equal(t, countsOf(pd), m.content)
	bytes := contentOf(pd).bytes
	assert.False(t, m.exceeds(bytes))
	assert.True(t, m.exceeds(bytes-1))
	stats := dedup.Stats{Changed: true, TablesChanged: true}
	assert.Equal(t, countsOf(pd), m.outgoing(&stats))

	batching := withoutMetrics(t, batchOf(nil))
	assert.Equal(t, contentOf(pd), batching.measure(t.Context(), pd).content)
}
