// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/profiletest/gen"
)

// Join is Concat, one message after the other.
func TestJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := pprofile.NewProfiles()
		messages := rapid.SliceOfN(gen.Profiles(), 0, 4).Draw(t, "messages")
		readOnly := rapid.Bool().Draw(t, "read only")
		for i, pd := range messages {
			dedup.Concat(want, clone(pd))
			if readOnly {
				messages[i].MarkReadOnly()
			}
		}
		joined := dedup.Join(messages)
		require.Equal(t, wire(t, want), wire(t, joined))
		for _, pd := range messages {
			assert.Equal(t, readOnly, pd.IsReadOnly())
		}
	})
}
