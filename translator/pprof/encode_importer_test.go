// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// repeatedEntries has entries 1 and 3 with equal content in the tables of strings, attributes and links.
func repeatedEntries() pprofile.ProfilesDictionary {
	d := pprofile.NewProfilesDictionary()
	d.StringTable().Append("", "text", "unused", "text")
	d.AttributeTable().AppendEmpty()
	d.LinkTable().AppendEmpty()
	for i, trace := range []byte{1, 2, 1} {
		a := d.AttributeTable().AppendEmpty()
		a.SetKeyStrindex(int32(i + 1))
		a.SetUnitStrindex(int32(i + 1))
		a.Value().SetInt(7)
		d.LinkTable().AppendEmpty().SetTraceID(pcommon.TraceID{trace})
	}
	return d
}

func importTo(builder *dictionary.Builder, source pprofile.ProfilesDictionary) (*importer, map[string]func(int32) (int32, error)) {
	im := &importer{}
	im.reset(builder, source)
	return im, map[string]func(int32) (int32, error){"string": im.string, "attribute": im.attribute, "link": im.link}
}

// TestImporter: equal entries of a message get one index, and entries that are not asked for are left out. An index that
// does not exist is an error each time.
func TestImporter(t *testing.T) {
	builder := dictionary.New()
	im, methods := importTo(builder, repeatedEntries())
	for table, get := range methods {
		for _, i := range []int32{1, 3, 1} {
			index, err := get(i)
			require.NoError(t, err)
			assert.Equal(t, int32(1), index, table)
		}
		for _, i := range []int32{4, 1 << 20, math.MaxInt32, -1, math.MinInt32} {
			for range 2 {
				_, err := get(i)
				assert.Equal(t, &dictionary.IndexError{Table: table, Index: i, Len: 4}, err)
			}
		}
	}
	assert.Equal(t, dictionary.Lengths{dictionary.Strings: 2, dictionary.Functions: 1, dictionary.Mappings: 1, dictionary.Locations: 1, dictionary.Stacks: 1, dictionary.Attributes: 2, dictionary.Links: 2}, builder.Len())

	list := pcommon.NewInt32Slice()
	list.Append(3, 0, 2, 1)
	attributes, err := im.appendAttributes([]int32{9}, list)
	require.NoError(t, err)
	assert.Equal(t, []int32{9, 1, 2}, attributes, "a set: sorted, each once, without entry 0")
}

// TestImporterEntryZero: index 0 is the zero value, whatever the table has there, and also if the table is empty.
func TestImporterEntryZero(t *testing.T) {
	odd := pprofile.NewProfilesDictionary()
	odd.StringTable().Append("not empty")
	odd.AttributeTable().AppendEmpty().SetKeyStrindex(99)
	odd.LinkTable().AppendEmpty().SetSpanID(pcommon.SpanID{1})
	for name, source := range map[string]pprofile.ProfilesDictionary{"odd": odd, "empty": pprofile.NewProfilesDictionary()} {
		builder := dictionary.New()
		_, methods := importTo(builder, source)
		for table, get := range methods {
			index, err := get(0)
			require.NoError(t, err, "%s %s", name, table)
			assert.Zero(t, index, "%s %s", name, table)
		}
		assert.Equal(t, dictionary.New().Len(), builder.Len())
	}
}
