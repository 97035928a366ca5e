// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAppendLabel(t *testing.T) {
	list, err := appendLabel(nil, "a\xff", "b\xfe")
	require.NoError(t, err)
	assert.Equal(t, []label{{name: "a\uFFFD", value: "b\uFFFD"}}, list)

	list, err = appendLabel(list, strings.Repeat("n", maxLabelName), strings.Repeat("v", maxLabelValue))
	require.NoError(t, err)
	require.Len(t, list, 2)
	for _, one := range []label{{name: strings.Repeat("n", maxLabelName+1)}, {value: strings.Repeat("v", maxLabelValue+1)}} {
		same, err := appendLabel(list, one.name, one.value)
		require.Equal(t, tooLarge, classOf(err))
		assert.Equal(t, list, same)
		assert.Less(t, len(err.Error()), 200, "an error does not repeat what is too large")
	}
	_, err = appendLabel(make([]label, maxLabels), "a", "b")
	require.Equal(t, tooLarge, classOf(err))
}
