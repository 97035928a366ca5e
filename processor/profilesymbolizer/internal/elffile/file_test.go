// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
)

// TestLongSectionNames: a long name that all sections of a small file share takes no memory for each.
func TestLongSectionNames(t *testing.T) {
	const sections, headerBytes, nameBytes = maxSections - 1, 64, MaxText - 1
	file := make([]byte, headerBytes*(1+sections), headerBytes*(1+sections)+nameBytes+1)
	little := binary.LittleEndian
	copy(file, "\x7fELF\x02\x01\x01")
	little.PutUint64(file[40:], headerBytes)
	little.PutUint16(file[58:], headerBytes)
	little.PutUint16(file[60:], sections)
	names := file[headerBytes:]
	little.PutUint32(names[4:], 3)
	little.PutUint64(names[24:], uint64(len(file)))
	little.PutUint64(names[32:], nameBytes+1)
	file = append(append(file, bytes.Repeat([]byte("x"), nameBytes)...), 0)
	var f *File
	assert.Less(t, memorytest.Allocated(func() {
		var err error
		f, err = Open(bytes.NewReader(file), int64(len(file)), &meter.Meter{})
		require.NoError(t, err)
	}), int64(8<<20))
	assert.Len(t, f.Sections, sections)
}
