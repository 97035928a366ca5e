// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileid

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

func idOf(payload string, attributes ...string) pprofile.ProfileID {
	m := pcommon.NewMap()
	for i := 0; i < len(attributes); i += 2 {
		m.PutStr(attributes[i], attributes[i+1])
	}
	h := NewHash()
	h.Bytes([]byte(payload))
	h.Attributes(m)
	ids := h.IDs()
	return ids.Next("cpu", "nanoseconds")
}

func TestEqualInputsHaveEqualIDs(t *testing.T) {
	assert.Equal(t, idOf("payload", "a", "1", "b", "2"), idOf("payload", "b", "2", "a", "1"), "the order of attributes")
	for _, other := range []pprofile.ProfileID{
		idOf("payloads", "a", "1", "b", "2"),
		idOf("payload", "a", "1", "b", "3"),
		idOf("payload", "a", "1", "c", "2"),
		idOf("payload", "a", "1"),
		idOf("payload", "a1", "", "b", "2"),
	} {
		assert.NotEqual(t, idOf("payload", "a", "1", "b", "2"), other)
	}
	assert.False(t, idOf("").IsEmpty())
}

func TestValuesCountByTypeAndContent(t *testing.T) {
	ids := map[pprofile.ProfileID]any{}
	for _, value := range []any{
		"1", int64(1), true, 1.5,
		[]byte{1},
		nil,
		[]any{},
		[]any{"a", "b"},
		[]any{"ab"},
		[]any{[]any{"a"}, "b"},
		map[string]any{"a": "b"},
		map[string]any{"a": int64(1), "b": nil},
	} {
		m := pcommon.NewMap()
		require.NoError(t, m.PutEmpty("key").FromRaw(value))
		h := NewHash()
		h.Attributes(m)
		origin := h.IDs()
		id := origin.Next("", "")
		assert.NotContains(t, ids, id, "%v", value)
		ids[id] = value
	}
}

// TestClone: a clone has the content of the original, whether that is still in the buffer or already hashed. They do not share what
// follows.
func TestClone(t *testing.T) {
	for _, size := range []int{0, 1, 8, 500, 512, 600, 5000} {
		start := strings.Repeat("x", size)
		original, whole, other := NewHash(), NewHash(), NewHash()
		original.text(start)
		clone := original.Clone()
		original.text("other")
		clone.text("end")
		for _, text := range []string{start, "end"} {
			whole.text(text)
		}
		for _, text := range []string{start, "other"} {
			other.text(text)
		}
		assert.Equal(t, whole.IDs(), clone.IDs(), size)
		assert.Equal(t, other.IDs(), original.IDs(), size)
	}
}

func TestEachProfileHasItsOwn(t *testing.T) {
	ids, again := NewHash().IDs(), NewHash().IDs()
	first, second := ids.Next("cpu", "nanoseconds"), ids.Next("cpu", "nanoseconds")
	assert.NotEqual(t, first, second)
	assert.Equal(t, first, again.Next("cpu", "nanoseconds"))
	otherType := NewHash().IDs()
	assert.NotEqual(t, first, otherType.Next("wall", "nanoseconds"))
}
