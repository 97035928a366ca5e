// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// memory is what the formula of docs/operations.md is given, in MiB.
type memory struct {
	// limit is GOMEMLIMIT, and budget that of all requests.
	limit, budget int
}

// baseMiB is a process that works on nothing: its code's data, stacks, buffers of connections, the tables of metrics.
const baseMiB = 100

// memoryOf is that of a container of so many MiB whose configuration says nothing else: GOMEMLIMIT is 80 % of it, and the budget
// 40 % of that.
func memoryOf(containerMiB int) memory {
	limit := containerMiB * 80 / 100
	return memory{limit: limit, budget: limit * 40 / 100}
}

// largest is the largest anonymous memory, in MiB: what is in use, and as much garbage as Go lets lie before it collects, which
// GOMEMLIMIT bounds. A fifth more is what is not of Go's heap, and what is taken while garbage is collected.
func (m memory) largest() int { return min(2*(baseMiB+m.budget), m.limit) * 6 / 5 }

// TestFormula: what the document calculates by hand is what the formula says.
func TestFormula(t *testing.T) {
	assert.Equal(t, 490, memoryOf(512).largest())
	assert.Equal(t, 1812, memoryOf(2048).largest())
	for _, mib := range extents["full"].sizes {
		assert.Less(t, memoryOf(mib).largest(), mib, "it fits the container")
	}
}
