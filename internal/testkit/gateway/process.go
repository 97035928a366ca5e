// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Process is what the system says of the running gateway.
type Process struct {
	// Resident is the memory held now and Peak the most that was ever held, in bytes.
	Resident, Peak int64
	// Anonymous is the part of Resident that is not of files. It excludes the program itself and the mapped file of a queue,
	// which the system takes back when it needs memory.
	Anonymous int64
	// CPU is the processor time that it took so far.
	CPU time.Duration
	// Files is the number of open files and sockets.
	Files int
}

// Process reads /proc, so it works on Linux only.
func (g *Gateway) Process() (Process, error) {
	var p Process
	directory := fmt.Sprintf("/proc/%d", g.PID())
	status, err := os.ReadFile(directory + "/status")
	if err != nil {
		return p, fmt.Errorf("cannot read the memory of the gateway: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "VmRSS":
			p.Resident, err = kilobytes(value)
		case "RssAnon":
			p.Anonymous, err = kilobytes(value)
		case "VmHWM":
			p.Peak, err = kilobytes(value)
		}
		if err != nil {
			return p, err
		}
	}
	if p.CPU, err = CPUTime(g.PID()); err != nil {
		return p, err
	}
	files, err := os.ReadDir(directory + "/fd")
	if err != nil {
		return p, fmt.Errorf("cannot count the open files of the gateway: %w", err)
	}
	p.Files = len(files)
	return p, nil
}

// ticksPerSecond is the unit of times in /proc, which is the same on all systems that Go runs on.
const ticksPerSecond = 100

// CPUTime is the processor time that a process took so far, its own and that of the kernel for it. It reads utime and
// stime, the 14th and 15th field; the second one, in parentheses, may hold anything. Linux only.
func CPUTime(pid int) (time.Duration, error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	stat, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("cannot read a processor time: %w", err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("cannot read a processor time: %s has %d fields, it must have 15 at least", path, 2+len(fields))
	}
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("cannot read a processor time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

func kilobytes(value string) (int64, error) {
	var n int64
	if _, err := fmt.Sscanf(value, "%d kB", &n); err != nil {
		return 0, fmt.Errorf("cannot read the amount of memory %q: %w", value, err)
	}
	return n << 10, nil
}
