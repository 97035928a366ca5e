// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// threadCPUTime is CLOCK_THREAD_CPUTIME_ID of clock_gettime.
const threadCPUTime = 3

// CPUTime returns the CPU time of f on its own goroutine. Other programs and other tests have little effect on it.
func CPUTime(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := now()
	f()
	return now() - start
}

func now() time.Duration {
	var t syscall.Timespec
	_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadCPUTime, uintptr(unsafe.Pointer(&t)), 0) // #nosec G103 -- The call only writes t.
	return time.Duration(t.Nano())
}
