// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"syscall"
	"time"
)

// ownTime is the processor time of this process, in microseconds.
func ownTime() (time.Duration, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}
