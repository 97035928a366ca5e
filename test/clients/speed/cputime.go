// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit in which Linux tells the CPU time of processes.
const tick = 10 * time.Millisecond

// cpuTime is what a process has used so far, in user mode and in the kernel.
func cpuTime(pid int) (time.Duration, error) {
	path := "/proc/" + strconv.Itoa(pid) + "/stat"
	text, err := os.ReadFile(path) //nolint:gosec // the path is made of a number
	if err != nil {
		return 0, err
	}
	// The name of the program, in parentheses, may hold blanks. What follows begins with the third field; the times are
	// the 14th and the 15th.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("%s has %d fields, want 15 at least", path, 2+len(fields))
	}
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("cannot read %s: %w", path, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// ownTime is the same of this process, in microseconds.
func ownTime() (time.Duration, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}
