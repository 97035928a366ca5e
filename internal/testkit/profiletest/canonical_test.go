// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// TestRepeatedKeys: the order of keys does not count, that of the values of one key does.
func TestRepeatedKeys(t *testing.T) {
	const (
		a1 = `{"key":"a","value":{"intValue":"1"}}`
		a2 = `{"key":"a","value":{"intValue":"2"}}`
		b  = `{"key":"b","value":{"intValue":"1"}}`
	)
	read := func(pairs string) pprofile.Profiles {
		pd, err := (&pprofile.JSONUnmarshaler{}).UnmarshalProfiles([]byte(
			`{"resourceProfiles":[{"resource":{"attributes":[` + pairs + `]},"scopeProfiles":[{"profiles":[{}]}]}]}`))
		require.NoError(t, err)
		return pd
	}
	first := read(a1 + "," + a2 + "," + b)
	assert.Empty(t, Diff(first, read(b+","+a1+","+a2)))
	assert.Empty(t, Diff(first, read(a1+","+b+","+a2)))
	assert.NotEmpty(t, Diff(first, read(a2+","+a1+","+b)))
	assert.NotEmpty(t, Diff(first, read(a1+","+b)))
}
