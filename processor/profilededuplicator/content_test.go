// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
)

// requireSize checks the size of a message against that of pdata, and the bound that saves measuring it.
func requireSize(t require.TestingT, pd pprofile.Profiles) {
	want := (&pprofile.ProtoMarshaler{}).ProfilesSize(pd)
	require.Equal(t, want, contentOf(pd).bytes)
	require.False(t, exceeds(pd, want))
	require.True(t, exceeds(pd, want-1))
	require.LessOrEqual(t, tablesBytes(pd), tablesField+tablesRatio*dictionary.MemoryOf(pd.Dictionary()))
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

// TestSizeOfExtremeEntries: the bound holds for each entry on its own, with the largest numbers in each field.
func TestSizeOfExtremeEntries(t *testing.T) {
	const n = 1000 // so that the rest of the message does not matter
	fillIndices := func(list pcommon.Int32Slice) {
		for range 10 {
			list.Append(-1)
		}
	}
	for name, add := range map[string]func(d pprofile.ProfilesDictionary){
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
		"number": func(d pprofile.ProfilesDictionary) {
			attribute := d.AttributeTable().AppendEmpty()
			attribute.SetKeyStrindex(-1)
			attribute.SetUnitStrindex(-1)
			attribute.Value().SetInt(-1)
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
	f := start(t, &sink{}, nil)
	d := f.Profiles.(*deduplicator)
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
