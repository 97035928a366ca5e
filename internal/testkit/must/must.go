// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package must takes values from functions that may fail.
package must // import "github.com/otelpprof/otelpprof/internal/testkit/must"

import "github.com/stretchr/testify/require"

// Get returns the value of a call, and ends the test if there is an error: content := must.Get(os.ReadFile(path))(t).
func Get[T any](value T, err error) func(t require.TestingT) T {
	return func(t require.TestingT) T {
		if helper, is := t.(interface{ Helper() }); is {
			helper.Helper()
		}
		require.NoError(t, err)
		return value
	}
}
