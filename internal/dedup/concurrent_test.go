// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestConcurrentUse uses one Deduplicator for similar messages at the same time, for the race detector.
func TestConcurrentUse(t *testing.T) {
	core := dedup.New(dedup.Options{})
	messages := []pprofile.Profiles{faultyEverywhere(), mergeMessage(20, 50), mergeMessage(3, 0), shared(100, 5)}
	var want [][]byte
	for _, pd := range messages {
		one, _, err := core.Deduplicate(clone(pd))
		require.NoError(t, err)
		want = append(want, profiletest.Marshal(t, one))
		pd.MarkReadOnly()
	}
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 20 {
				n := (worker + i) % len(messages)
				one, _, err := core.Deduplicate(clone(messages[n]))
				assert.NoError(t, err)
				assert.True(t, bytes.Equal(want[n], profiletest.Marshal(t, one)))
			}
		})
	}
	group.Wait()
}
