// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// TestNamesWithoutMemory: a location has many inlined functions, and the memory ends at one of them. The others are harmless.
func TestNamesWithoutMemory(t *testing.T) {
	errNoMemory := errors.New("no memory")
	for limit := int64(20 << 10); limit < 200<<10; limit += 512 {
		work := meter.New(0, func(total int64) error {
			if total > limit {
				return errNoMemory
			}
			return nil
		})
		c := &call{work: work}
		tree, err := c.tree()
		require.NoError(t, err)
		for i := range 5000 {
			tree.name(strconv.Itoa(i), place{})
		}
		require.ErrorIs(t, work.Err(), errNoMemory)
	}
}
