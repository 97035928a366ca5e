// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

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
		if i+1 != broken && (c.FindStack(1+i) != 1+i || c.FindStack(1+i+distinct) != 1+i) {
			t.Fatalf("stacks %d and %d became %d and %d", 1+i, 1+i+distinct, c.FindStack(1+i), c.FindStack(1+i+distinct))
		}
	}
	assert.Equal(t, int32(broken+distinct), c.FindStack(broken+distinct))
	assert.Negative(t, c.tables[Locations].first[broken])
	c.Apply()
	assert.Equal(t, Lengths{
		Strings: 1 + distinct, Functions: 1 + distinct, Mappings: 1, Locations: 1 + distinct, Stacks: 1 + distinct,
		Attributes: 1, Links: 1,
	}, LengthsOf(source))
}
