// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package profiletest

import "time"

func timeOf(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}
