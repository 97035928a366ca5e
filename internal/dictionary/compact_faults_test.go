// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

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
