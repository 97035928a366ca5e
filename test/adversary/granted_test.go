// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// busyMachine is how many times longer than allowed something may take where the host gives this machine few of its processors.
const busyMachine = 6

// moment is a time, and what the processors had done by then.
type moment struct {
	time time.Time
	// worked is the time that all processors worked, stolen the time that they would have, but the host ran something else.
	worked, stolen float64
}

// now reads /proc/stat, see proc_stat(5). Where there is none, nothing is stolen.
func now() moment {
	m := moment{time: time.Now()}
	content, err := os.ReadFile("/proc/stat")
	if err != nil {
		return m
	}
	line, _, _ := strings.Cut(string(content), "\n")
	const idle, iowait, steal, columns = 4, 5, 8, 9
	fields := strings.Fields(line)
	if len(fields) < columns {
		return m
	}
	for i, field := range fields[1:columns] {
		ticks, err := strconv.ParseFloat(field, 64)
		switch {
		case err != nil || i+1 == idle || i+1 == iowait:
		case i+1 == steal:
			m.stolen = ticks
		default:
			m.worked += ticks
		}
	}
	return m
}

// granted is the time since m without what the host took: what it would have taken on a machine of its own.
func (m moment) granted() time.Duration {
	end := now()
	worked, stolen := end.worked-m.worked, end.stolen-m.stolen
	if worked+stolen <= 0 {
		return end.time.Sub(m.time)
	}
	return time.Duration(float64(end.time.Sub(m.time)) * worked / (worked + stolen))
}
