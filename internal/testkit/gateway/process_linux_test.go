// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCPUTime: the time of a process that computes grows, and not faster than its processors let it.
func TestCPUTime(t *testing.T) {
	before, err := CPUTime(os.Getpid())
	require.NoError(t, err)
	begin := time.Now()
	after := before
	for after < before+50*time.Millisecond {
		after, err = CPUTime(os.Getpid())
		require.NoError(t, err)
	}
	require.LessOrEqual(t, after-before, time.Duration(runtime.NumCPU())*time.Since(begin)+time.Second, "the unit is right")
	_, err = CPUTime(0)
	require.Error(t, err)
}
