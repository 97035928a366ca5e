// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package label

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAppend(t *testing.T) {
	list, err := Append(nil, "a\xff", "b\xfe")
	require.NoError(t, err)
	assert.Equal(t, []Label{{Name: "a\uFFFD", Value: "b\uFFFD"}}, list)

	list, err = Append(list, strings.Repeat("n", MaxNameBytes), strings.Repeat("v", MaxValueBytes))
	require.NoError(t, err)
	require.Len(t, list, 2)
	for _, one := range []Label{{Name: strings.Repeat("n", MaxNameBytes+1)}, {Value: strings.Repeat("v", MaxValueBytes+1)}} {
		same, err := Append(list, one.Name, one.Value)
		require.ErrorIs(t, err, ErrTooLarge)
		assert.Equal(t, list, same)
		assert.Less(t, len(err.Error()), 200, "an error does not repeat what is too large")
	}
	_, err = Append(make([]Label, MaxCount), "a", "b")
	require.ErrorIs(t, err, ErrTooLarge)
}
