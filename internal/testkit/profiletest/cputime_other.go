// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package profiletest

import "time"

// CPUTime returns the time of f: only Linux tells the CPU time of a thread.
func CPUTime(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}
