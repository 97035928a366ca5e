// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
)

// messySource is a dictionary in which each table has the zero entry, an entry, an unused entry, and a copy of the first with
// other references. The first entry has index 1, its copy index 3.
func messySource() pprofile.ProfilesDictionary {
	d := newTables()
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
	return d
}

// TestImportEachOnce: an entry and its copy become one entry, with all entries to which they refer. Unused entries are left out.
func TestImportEachOnce(t *testing.T) {
	b := New()
	im := NewImporter(b, messySource())
	imported := func(index int32, err error) int32 {
		t.Helper()
		require.NoError(t, err)
		return index
	}
	assert.Equal(t, imported(im.Stack(1)), imported(im.Stack(3)))
	assert.Equal(t, imported(im.Link(1)), imported(im.Link(3)))
	assert.Equal(t, int32(1), imported(im.Stack(1)), "asking again gives the same index")
	assert.Equal(t, Sizes{Strings: 3, Functions: 2, Mappings: 2, Locations: 2, Stacks: 2, Attributes: 3, Links: 2}, b.Len())
	assert.Equal(t, []int32{1, 0, 1}, b.StackAt(1))
	location, attributes := b.LocationAt(1)
	assert.Equal(t, Location{Address: 9, Mapping: 1}, location)
	assert.Equal(t, []int32{1, 2}, attributes)
	assert.Equal(t, []Line{{1, 20, 21}, {1, 10, 11}}, b.LinesAt(1), "lines keep their order")
	mapping, attributes := b.MappingAt(1)
	assert.Equal(t, Mapping{Start: 1, Limit: 2, Offset: 3, Filename: 1}, mapping)
	assert.Equal(t, []int32{1, 2}, attributes, "a set: sorted, each once, without entry 0")
	assert.Equal(t, Function{1, 1, 1, 5}, b.FunctionAt(1))
	assert.Equal(t, "text", b.StringAt(1))
	assert.Equal(t, "other", b.StringAt(2))
	assert.Equal(t, Link{TraceID: pcommon.TraceID{1}}, b.LinkAt(1))
	a := b.AttributeAt(1)
	assert.Equal(t, []int32{1, 1}, []int32{a.Key, a.Unit})
	assert.Equal(t, "7", a.AsString())
}

// TestImportOfSeveralSources: equal entries of two dictionaries become one.
func TestImportOfSeveralSources(t *testing.T) {
	b := New()
	im := NewImporter(b, messySource())
	first, err := im.Stack(1)
	require.NoError(t, err)
	before := b.Len()
	im.Reset(b, messySource())
	second, err := im.Stack(3)
	require.NoError(t, err)
	assert.Equal(t, first, second)
	assert.Equal(t, before, b.Len())

	shorter := newTables()
	im.Reset(b, shorter)
	_, err = im.Stack(1)
	require.Error(t, err, "what was carried over from another source is forgotten")
	im.Release()
}

// TestImportOfEntryZero: index 0 is the zero value, whatever the table has there, and also if the table is empty.
func TestImportOfEntryZero(t *testing.T) {
	odd := pprofile.NewProfilesDictionary()
	odd.StringTable().Append("not empty")
	odd.FunctionTable().AppendEmpty().SetStartLine(1)
	odd.MappingTable().AppendEmpty().SetMemoryStart(1)
	odd.LocationTable().AppendEmpty().SetAddress(1)
	odd.StackTable().AppendEmpty().LocationIndices().Append(0, 99)
	odd.AttributeTable().AppendEmpty().SetKeyStrindex(99)
	odd.LinkTable().AppendEmpty().SetSpanID(pcommon.SpanID{1})
	for name, source := range map[string]pprofile.ProfilesDictionary{"odd": odd, "empty": pprofile.NewProfilesDictionary()} {
		b := New()
		im := NewImporter(b, source)
		for table, get := range importMethods(im) {
			index, err := get(0)
			require.NoError(t, err, "%s %s", name, table)
			assert.Zero(t, index, "%s %s", name, table)
		}
		list := pcommon.NewInt32Slice()
		list.Append(0, 0)
		attributes, err := im.AppendAttributes([]int32{9}, list)
		require.NoError(t, err)
		assert.Equal(t, []int32{9}, attributes)
		assert.Equal(t, New().Len(), b.Len())
	}
}

func importMethods(im *Importer) map[string]func(int32) (int32, error) {
	return map[string]func(int32) (int32, error){
		"string": im.String, "function": im.Function, "mapping": im.Mapping, "location": im.Location,
		"stack": im.Stack, "attribute": im.Attribute, "link": im.Link,
	}
}

// TestImportOfIndicesThatDoNotExist: the error names the table, the index and the length. A second attempt fails as well.
func TestImportOfIndicesThatDoNotExist(t *testing.T) {
	for _, index := range []int32{4, 5, 1 << 20, math.MaxInt32, -1, math.MinInt32} {
		source := messySource()
		source.StringTable().RemoveIf(func(s string) bool { return s == "other" })
		source.AttributeTable().RemoveIf(func(kv pprofile.KeyValueAndUnit) bool { return kv.KeyStrindex() == 2 })
		for table, get := range importMethods(NewImporter(New(), source)) {
			for range 2 {
				_, err := get(index)
				var indexError *IndexError
				require.ErrorAs(t, err, &indexError)
				require.Equal(t, IndexError{Table: table, Index: index, Len: 4}, *indexError)
			}
		}
	}
	err := &IndexError{Table: "stack", Index: -7, Len: 3}
	assert.EqualError(t, err, "index -7 of the stack table does not exist, it has 3 entries")
}

// TestImportOfBrokenReferences breaks each reference of entry 1 in turn.
func TestImportOfBrokenReferences(t *testing.T) {
	const out = 1000
	for name, test := range map[string]struct {
		table   string
		breakIt func(pprofile.ProfilesDictionary)
	}{
		"function name":     {"string", func(d pprofile.ProfilesDictionary) { d.FunctionTable().At(1).SetNameStrindex(out) }},
		"system name":       {"string", func(d pprofile.ProfilesDictionary) { d.FunctionTable().At(1).SetSystemNameStrindex(out) }},
		"function file":     {"string", func(d pprofile.ProfilesDictionary) { d.FunctionTable().At(1).SetFilenameStrindex(out) }},
		"mapping file":      {"string", func(d pprofile.ProfilesDictionary) { d.MappingTable().At(1).SetFilenameStrindex(out) }},
		"mapping attribute": {"attribute", func(d pprofile.ProfilesDictionary) { d.MappingTable().At(1).AttributeIndices().Append(out) }},
		"attribute key":     {"string", func(d pprofile.ProfilesDictionary) { d.AttributeTable().At(1).SetKeyStrindex(out) }},
		"attribute unit":    {"string", func(d pprofile.ProfilesDictionary) { d.AttributeTable().At(1).SetUnitStrindex(out) }},
		"location mapping":  {"mapping", func(d pprofile.ProfilesDictionary) { d.LocationTable().At(1).SetMappingIndex(out) }},
		"location line":     {"function", func(d pprofile.ProfilesDictionary) { d.LocationTable().At(1).Lines().At(1).SetFunctionIndex(out) }},
		"own attribute":     {"attribute", func(d pprofile.ProfilesDictionary) { d.LocationTable().At(1).AttributeIndices().Append(out) }},
		"stack location":    {"location", func(d pprofile.ProfilesDictionary) { d.StackTable().At(1).LocationIndices().Append(out) }},
	} {
		t.Run(name, func(t *testing.T) {
			source := messySource()
			test.breakIt(source)
			im := NewImporter(New(), source)
			for range 2 {
				_, err := im.Stack(1)
				var indexError *IndexError
				require.ErrorAs(t, err, &indexError)
				require.Equal(t, test.table, indexError.Table)
				require.Equal(t, int32(out), indexError.Index)
			}
			_, err := im.Stack(0)
			require.NoError(t, err, "what does not lead there is not affected")
		})
	}
}

// TestImportKeepsMeaning imports the dictionaries of whole messages. They are in any order, with duplicates and unused
// entries. The message with the new dictionary has the same meaning, and its dictionary is in order.
func TestImportKeepsMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pd := gen.Profiles().Draw(t, "profiles")
		before := bytesOf(t, pd.Dictionary())
		got := pprofile.NewProfiles()
		pd.ResourceProfiles().CopyTo(got.ResourceProfiles())
		b := New()
		carryOver(t, NewImporter(b, pd.Dictionary()), got)
		b.WriteTo(got.Dictionary())
		require.Empty(t, profiletest.Diff(pd, got))
		allowed := profiletest.CheckOptions{
			AllowMixedShapes: true, AllowTimestampsOutside: true, AllowNegativeLines: true, AllowNamelessFunctions: true,
			AllowSeveralValues: true,
		}
		require.NoError(t, allowed.Check(got))
		require.Equal(t, before, bytesOf(t, pd.Dictionary()), "the source is only read")
	})
}

// carryOver replaces all indices in pd.
func carryOver(t require.TestingT, im *Importer, pd pprofile.Profiles) {
	carried := func(index int32, err error) int32 {
		require.NoError(t, err)
		return index
	}
	list := func(indices pcommon.Int32Slice) {
		attributes, err := im.AppendAttributes(nil, indices)
		require.NoError(t, err)
		indices.FromRaw(attributes)
	}
	for _, rp := range pd.ResourceProfiles().All() {
		for _, sp := range rp.ScopeProfiles().All() {
			for _, p := range sp.Profiles().All() {
				for _, v := range []pprofile.ValueType{p.SampleType(), p.PeriodType()} {
					v.SetTypeStrindex(carried(im.String(v.TypeStrindex())))
					v.SetUnitStrindex(carried(im.String(v.UnitStrindex())))
				}
				list(p.AttributeIndices())
				for _, s := range p.Samples().All() {
					s.SetStackIndex(carried(im.Stack(s.StackIndex())))
					s.SetLinkIndex(carried(im.Link(s.LinkIndex())))
					list(s.AttributeIndices())
				}
			}
		}
	}
}
