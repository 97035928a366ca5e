// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package resourcemetadata

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
)

// longValues returns a message of n resources. set sets the value of each.
func longValues(n int, set func(v pcommon.Value, i int)) pprofile.Profiles {
	pd := pprofile.NewProfiles()
	for i := range n {
		set(pd.ResourceProfiles().AppendEmpty().Resource().Attributes().PutEmpty("tenant"), i)
	}
	return pd
}

// TestMemoryOfLongValues: the resources of a short message can share a long string. Each needs only the memory of what is left of it,
// and a message with too many values is refused before all are read.
func TestMemoryOfLongValues(t *testing.T) {
	long := strings.Repeat("v", 70_000)
	list := func(v pcommon.Value, i int) {
		v.SetEmptySlice().AppendEmpty().SetInt(int64(i))
		v.Slice().AppendEmpty().SetStr(long)
	}
	c := &metadataConsumer{keys: []string{"tenant"}}
	for name, test := range map[string]struct {
		message pprofile.Profiles
		groups  int
	}{
		"different": {longValues(maxParts, list), maxParts},
		"too many":  {longValues(20*maxParts, list), maxParts + 1},
		"equal":     {longValues(maxParts, func(v pcommon.Value, _ int) { list(v, 0) }), 1},
	} {
		var values [][]value
		used := memorytest.Allocated(func() { _, values = c.plan(test.message) })
		assert.Len(t, values, test.groups, name)
		assert.Less(t, used, int64(maxParts+1)*16*maxValueBytes, name)
	}
}

// TestCutStringsAreCopied: what is left of a long string does not keep all of it in memory.
func TestCutStringsAreCopied(t *testing.T) {
	const n, length = 64, 256 << 10
	c := &metadataConsumer{keys: []string{"tenant"}}
	before := memorytest.LiveHeap()
	_, values := c.plan(longValues(n, func(v pcommon.Value, i int) {
		v.SetStr(string(rune('A'+i)) + strings.Repeat("v", length))
	}))
	assert.Less(t, memorytest.LiveHeap()-before, int64(n*length/8))
	runtime.KeepAlive(values)
}
