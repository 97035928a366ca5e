// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
)

// messyMessage returns a message whose tables have the zero entry, an entry, an unused entry, and a copy of the first with
// other references. The first entry has index 1, its copy index 3. The message has a sample for each of the two.
func messyMessage() pprofile.Profiles {
	pd := pprofile.NewProfiles()
	d := pd.Dictionary()
	New().WriteTo(d)
	d.StringTable().Append("text", "orphan", "text", "other")
	for _, key := range []int32{1, 4, 3, 2} { // text, other, text again, orphan
		kv := d.AttributeTable().AppendEmpty()
		kv.SetKeyStrindex(key)
		kv.SetUnitStrindex(key)
		kv.Value().SetInt(7)
	}
	for i, name := range []int32{1, 2, 3} {
		f := d.FunctionTable().AppendEmpty()
		f.SetNameStrindex(name)
		f.SetSystemNameStrindex(name)
		f.SetFilenameStrindex(name)
		f.SetStartLine(5)

		m := d.MappingTable().AppendEmpty()
		m.SetMemoryStart(1)
		m.SetMemoryLimit(2)
		m.SetFileOffset(3)
		m.SetFilenameStrindex(name)
		m.AttributeIndices().Append([][]int32{{1, 2}, {4}, {0, 2, 3, 1, 0}}[i]...)

		l := d.LocationTable().AppendEmpty()
		l.SetAddress(9)
		l.SetMappingIndex(int32(i + 1))
		for _, number := range []int64{20, 10} {
			line := l.Lines().AppendEmpty()
			line.SetFunctionIndex(int32(i + 1))
			line.SetLine(number)
			line.SetColumn(number + 1)
		}
		l.AttributeIndices().Append([][]int32{{2, 1}, {4}, {3, 2}}[i]...)

		d.StackTable().AppendEmpty().LocationIndices().Append([][]int32{{1, 0, 1}, {2}, {3, 0, 1}}[i]...)
		d.LinkTable().AppendEmpty().SetTraceID(pcommon.TraceID{[]byte{1, 2, 1}[i]})
	}
	profile := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	for _, i := range []int32{1, 3} {
		sample := profile.Samples().AppendEmpty()
		sample.SetStackIndex(i)
		sample.SetLinkIndex(i)
	}
	return pd
}

// samplesOf returns the samples of the only profile of a message.
func samplesOf(pd pprofile.Profiles) pprofile.SampleSlice {
	return pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).Samples()
}

// TestCompact: an entry and its copy become one entry, with all entries to which they refer. Unused entries are removed.
func TestCompact(t *testing.T) {
	pd := messyMessage()
	require.NoError(t, Compact(pd))
	for _, sample := range samplesOf(pd).All() {
		assert.Equal(t, int32(1), sample.StackIndex())
		assert.Equal(t, int32(1), sample.LinkIndex())
	}
	d := pd.Dictionary()
	assert.Equal(t, Lengths{Strings: 3, Functions: 2, Mappings: 2, Locations: 2, Stacks: 2, Attributes: 3, Links: 2}, LengthsOf(d))
	assert.Equal(t, []string{"", "text", "other"}, d.StringTable().AsRaw())
	assert.Equal(t, []int32{1, 0, 1}, d.StackTable().At(1).LocationIndices().AsRaw())
	location := d.LocationTable().At(1)
	assert.Equal(t, int32(1), location.MappingIndex())
	assert.Equal(t, []int32{1, 2}, location.AttributeIndices().AsRaw(), "a set: sorted, each once, without entry 0")
	for i, number := range []int64{20, 10} { // Lines keep their order.
		assert.Equal(t, int32(1), location.Lines().At(i).FunctionIndex())
		assert.Equal(t, number, location.Lines().At(i).Line())
	}
	assert.Equal(t, []int32{1, 2}, d.MappingTable().At(1).AttributeIndices().AsRaw())
	assert.Equal(t, int32(1), d.MappingTable().At(1).FilenameStrindex())
	assert.Equal(t, int32(1), d.FunctionTable().At(1).SystemNameStrindex())
	assert.Equal(t, int32(2), d.AttributeTable().At(2).UnitStrindex())
	before := bytesOf(t, d)
	require.NoError(t, Compact(pd))
	assert.Equal(t, before, bytesOf(t, d), "a compact message stays")
}

// TestCompactKeep: the unused entries of a table stay if they are to be kept, in their order and without copies.
func TestCompactKeep(t *testing.T) {
	pd := messyMessage()
	require.NoError(t, Compact(pd, Mappings))
	var files []string
	for _, mapping := range pd.Dictionary().MappingTable().All() {
		files = append(files, pd.Dictionary().StringTable().At(int(mapping.FilenameStrindex())))
	}
	assert.Equal(t, []string{"", "text", "orphan"}, files)
	assert.Equal(t, 2, pd.Dictionary().LocationTable().Len())
}

// TestCompactEntryZero: index 0 is the zero value, whatever the table has there, and also if the table is empty.
func TestCompactEntryZero(t *testing.T) {
	odd := pprofile.NewProfiles()
	d := odd.Dictionary()
	d.StringTable().Append("not empty")
	d.FunctionTable().AppendEmpty().SetStartLine(1)
	d.MappingTable().AppendEmpty().SetMemoryStart(1)
	d.LocationTable().AppendEmpty().SetAddress(1)
	d.StackTable().AppendEmpty().LocationIndices().Append(0, 99)
	d.AttributeTable().AppendEmpty().SetKeyStrindex(99)
	d.LinkTable().AppendEmpty().SetSpanID(pcommon.SpanID{1})
	for name, pd := range map[string]pprofile.Profiles{"odd": odd, "empty": pprofile.NewProfiles()} {
		t.Run(name, func(t *testing.T) {
			profile := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
			profile.AttributeIndices().Append(0, 0)
			profile.Samples().AppendEmpty()
			require.NoError(t, Compact(pd))
			assert.Empty(t, profile.AttributeIndices().AsRaw())
			assert.Equal(t, bytesOf(t, newTables()), bytesOf(t, pd.Dictionary()))
		})
	}
}

// TestCompactBrokenReferences breaks each reference of the entries that a sample reaches. The message does not change.
func TestCompactBrokenReferences(t *testing.T) {
	for _, fault := range gen.Faults() {
		if !fault.Index {
			continue
		}
		t.Run(fault.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				pd := gen.Profiles().Draw(t, "profiles")
				if _, broken := gen.Break(pd, fault, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))); !broken {
					return
				}
				before := profiletest.Marshal(t, pd)
				var indexError *IndexError
				require.ErrorAs(t, Compact(pd), &indexError)
				require.Equal(t, before, profiletest.Marshal(t, pd))
			})
		})
	}
	err := &IndexError{Table: "stack", Index: -7, Len: 3}
	assert.EqualError(t, err, "index -7 of the stack table does not exist, it has 3 entries")
}

// TestCompactKeepsMeaning compacts messages whose dictionaries are in any order, with duplicates and unused entries. The
// meaning stays, and the dictionary conforms to the protocol.
func TestCompactKeepsMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pd := gen.Profiles().Draw(t, "profiles")
		got := pprofile.NewProfiles()
		pd.CopyTo(got)
		require.NoError(t, Compact(got))
		require.Empty(t, profiletest.Diff(pd, got))
		allowed := profiletest.CheckOptions{
			AllowMixedShapes: true, AllowTimestampsOutside: true, AllowNegativeLines: true, AllowNamelessFunctions: true,
			AllowSeveralValues: true,
		}
		require.NoError(t, allowed.Check(got))
	})
}

// TestManyFaults: the Compactor keeps the errors of some invalid entries only, but knows for each that it is invalid, and
// the kind of its error.
func TestManyFaults(t *testing.T) {
	const n = 10_000
	source := pprofile.NewProfilesDictionary()
	source.StringTable().FromRaw([]string{"", "key"})
	source.AttributeTable().AppendEmpty()
	for value := range int64(2) {
		a := source.AttributeTable().AppendEmpty()
		a.SetKeyStrindex(1)
		a.Value().SetInt(value)
	}
	source.FunctionTable().AppendEmpty()
	source.MappingTable().AppendEmpty()
	for i := range n {
		source.FunctionTable().AppendEmpty().SetNameStrindex(99)
		m := source.MappingTable().AppendEmpty()
		if i%2 == 0 {
			m.SetFilenameStrindex(99)
		} else {
			m.AttributeIndices().FromRaw([]int32{1, 2})
		}
	}
	var c Compactor
	for range 2 {
		c.Reset(source, nil)
		for i := 1; i <= n; i++ {
			require.Negative(t, c.tables[Functions].find(int32(i)))
			require.Negative(t, c.tables[Mappings].find(int32(i)))
		}
		assert.Len(t, c.tables[Functions].faults, maxFaults)
		assert.LessOrEqual(t, len(c.tables[Mappings].faults), maxFaults+1)

		assert.EqualError(t, c.tables[Functions].use(7), "function 7: index 99 of the string table does not exist, it has 2 entries")
		var index *IndexError
		assert.EqualError(t, c.tables[Functions].use(n), "function 10000 is invalid like function 1: index 99 of the string table does not exist, it has 2 entries")
		require.ErrorAs(t, c.tables[Mappings].use(n-1), &index)
		var key *DuplicateKeyError
		require.ErrorAs(t, c.tables[Mappings].use(n), &key)
		assert.Equal(t, "key", key.Key)
	}
	assert.GreaterOrEqual(t, c.Kept(), int64(2*n*9), "nine bytes for each entry")
	c.Release()
	assert.Empty(t, c.tables[Functions].faults)
}

// TestLargeTables: entries of large tables, which are joined in batches, are joined like those of small ones. An invalid
// entry among them does not affect the others.
func TestLargeTables(t *testing.T) {
	const distinct, broken = largeIndex, 12_345
	source := pprofile.NewProfilesDictionary()
	source.StringTable().Append("")
	source.FunctionTable().AppendEmpty()
	source.LocationTable().AppendEmpty()
	source.StackTable().AppendEmpty()
	source.MappingTable().AppendEmpty()
	for i := range int32(2 * distinct) {
		source.StringTable().Append(strconv.Itoa(int(i) % distinct))
		source.FunctionTable().AppendEmpty().SetNameStrindex(1 + i)
		source.LocationTable().AppendEmpty().Lines().AppendEmpty().SetFunctionIndex(1 + i)
		source.StackTable().AppendEmpty().LocationIndices().Append(1 + i)
	}
	source.FunctionTable().At(broken).SetNameStrindex(-1)

	var c Compactor
	c.Reset(source, nil)
	require.GreaterOrEqual(t, len(c.index.slots), largeIndex)
	sample := pprofile.NewSample()
	for i := range int32(2 * distinct) {
		if i+1 != broken {
			sample.SetStackIndex(1 + i)
			require.NoError(t, c.UseSample(sample))
		}
	}
	require.NoError(t, c.Number())
	for i := range int32(distinct) {
		if i+1 != broken && (c.Find(Stacks, 1+i) != 1+i || c.Find(Stacks, 1+i+distinct) != 1+i) {
			t.Fatalf("stacks %d and %d became %d and %d", 1+i, 1+i+distinct, c.Find(Stacks, 1+i), c.Find(Stacks, 1+i+distinct))
		}
	}
	assert.Equal(t, int32(broken+distinct), c.Find(Stacks, broken+distinct))
	assert.Negative(t, c.tables[Locations].first[broken])
	c.Apply(source)
	assert.Equal(t, Lengths{
		Strings: 1 + distinct, Functions: 1 + distinct, Mappings: 1, Locations: 1 + distinct, Stacks: 1 + distinct,
		Attributes: 1, Links: 1,
	}, LengthsOf(source))
}
