// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package lifecycletest starts and shuts down components, as the tests that mdatagen would write into each of them.
package lifecycletest // import "github.com/otelpprof/otelpprof/internal/testkit/lifecycletest"

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
)

// Check shuts a component down without a start, and starts and shuts down another two of the same configuration, one after the other.
// A shutdown may come twice.
func Check[C component.Component](t *testing.T, create func() (C, error)) {
	t.Helper()
	for _, start := range []bool{false, true, true} {
		part, err := create()
		require.NoError(t, err)
		if start {
			require.NoError(t, part.Start(t.Context(), componenttest.NewNopHost()))
		}
		require.NoError(t, part.Shutdown(t.Context()))
		require.NoError(t, part.Shutdown(t.Context()), "twice")
	}
}
