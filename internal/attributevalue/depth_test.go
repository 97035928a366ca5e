// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributevalue

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

func TestTooDeep(t *testing.T) {
	for _, raw := range []any{nil, "text", 7, []byte("bytes"), []any{}, map[string]any{"a": []any{1, map[string]any{}}}} {
		assert.False(t, TooDeep(value(t, raw)))
	}
	assert.False(t, TooDeep(profiletest.Nest(pcommon.NewValueEmpty(), MaxDepth)))
	assert.True(t, TooDeep(profiletest.Nest(pcommon.NewValueEmpty(), MaxDepth+1)))
	assert.True(t, TooDeep(profiletest.Nest(pcommon.NewValueEmpty(), 1_000_000)))

	list := pcommon.NewValueSlice()
	list.Slice().AppendEmpty().SetInt(1)
	profiletest.Nest(list.Slice().AppendEmpty(), MaxDepth)
	assert.True(t, TooDeep(list), "one item suffices")
}

func TestCheck(t *testing.T) {
	attributes := pcommon.NewMap()
	attributes.PutStr("a", "text")
	profiletest.Nest(attributes.PutEmpty("b"), MaxDepth)
	require.NoError(t, Check(attributes))
	profiletest.Nest(attributes.PutEmpty("c"), MaxDepth+1)
	err := Check(attributes)
	var found *TooDeepError
	require.ErrorAs(t, err, &found)
	assert.Equal(t, "c", found.Key)
	assert.EqualError(t, err, `attribute "c" is too deep: at least 33 lists or maps within one another, the limit is 32`)
}
