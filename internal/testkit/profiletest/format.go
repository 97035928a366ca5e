// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Format returns a file in testdata/formats.
func Format(tb testing.TB, name string) []byte {
	tb.Helper()
	content, err := os.ReadFile(Testdata(tb, "formats", name))
	require.NoError(tb, err)
	return content
}
