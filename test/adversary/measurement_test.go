// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
)

// measurement is what one body did to one configuration. It is a line of the record.
type measurement struct {
	Configuration string  `json:"configuration"`
	ContainerMiB  int     `json:"container_mib"`
	Body          string  `json:"body"`
	To            string  `json:"to"`
	WireBytes     int     `json:"wire_bytes"`
	Times         int     `json:"times"`
	Answers       string  `json:"answers"`
	PeakMiB       int     `json:"peak_mib"`
	Seconds       float64 `json:"seconds"`
	HonestSeconds float64 `json:"honest_seconds"`
	Failed        bool    `json:"failed"`
}

func (m *measurement) String() string {
	return fmt.Sprintf("%s in %d MiB: %s, %d bytes ×%d: %s; peak %d MiB, %.1f s, honest within %.1f s",
		m.Configuration, m.ContainerMiB, m.Body, m.WireBytes, m.Times, m.Answers, m.PeakMiB, m.Seconds, m.HonestSeconds)
}

// slowest is the measurement in which an honest client had to come again for the longest time.
var slowest struct {
	sync.Mutex
	*measurement
}

// logSlowest logs it.
func logSlowest(t *testing.T) {
	t.Helper()
	slowest.Lock()
	defer slowest.Unlock()
	if slowest.measurement != nil {
		t.Logf("of all honest requests, the slowest took %.1f s: %s", slowest.HonestSeconds, slowest.measurement)
	}
}

func recordPath() string { return os.Getenv(recordVariable) }

// record adds the measurement to the record, if there is one.
func (m *measurement) record(t *testing.T) {
	t.Helper()
	slowest.Lock()
	if slowest.measurement == nil || m.HonestSeconds > slowest.HonestSeconds {
		slowest.measurement = m
	}
	slowest.Unlock()
	path := recordPath()
	if path == "" {
		return
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	require.NoError(t, json.NewEncoder(file).Encode(m))
	require.NoError(t, file.Close())
}

// readRecord returns the measurements of a record, of each kind the last.
func readRecord(t *testing.T, path string) []measurement {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var all []measurement
	index := map[string]int{}
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		var m measurement
		require.NoError(t, json.Unmarshal(lines.Bytes(), &m))
		key := fmt.Sprint(m.Configuration, m.ContainerMiB, m.Body, m.Times)
		if i, seen := index[key]; seen {
			all[i] = m
			continue
		}
		index[key] = len(all)
		all = append(all, m)
	}
	return all
}

// memory is what the formula of docs/operations.md is given, in MiB.
type memory struct {
	// limit is GOMEMLIMIT, and budget that of all requests.
	limit, budget int
}

// baseMiB is a process that works on nothing: its code's data, stacks, buffers of connections, the tables of metrics.
const baseMiB = 100

// memoryOf is that of a container of so many MiB whose configuration says nothing else: GOMEMLIMIT is 80 % of it, and the budget
// 40 % of that.
func memoryOf(containerMiB int) memory {
	limit := containerMiB * 80 / 100
	return memory{limit: limit, budget: limit * 40 / 100}
}

// largest is the largest anonymous memory, in MiB: what is in use, and as much garbage as Go lets lie before it collects, which
// GOMEMLIMIT bounds. A fifth more is what is not of Go's heap, and what is taken while garbage is collected.
func (m memory) largest() int { return min(2*(baseMiB+m.budget), m.limit) * 6 / 5 }

// TestFormula: what the document calculates by hand is what the formula says.
func TestFormula(t *testing.T) {
	assert.Equal(t, 490, memoryOf(512).largest())
	assert.Equal(t, 1812, memoryOf(2048).largest())
	for _, mib := range extents["full"].sizes {
		assert.Less(t, memoryOf(mib).largest(), mib, "it fits the container")
	}
}

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

// watch looks at the anonymous memory of a process every ten milliseconds, and ends the process where it takes so much
// that it would harm the machine.
type watch struct {
	running *gateway.Gateway
	ceiling int64
	gone    sync.WaitGroup

	mu     sync.Mutex
	peak   int64
	killed bool
}

// startWatch watches until the process has ended. Above ceiling bytes it is killed.
func startWatch(running *gateway.Gateway, ceiling int64) *watch {
	w := &watch{running: running, ceiling: ceiling}
	w.gone.Go(func() {
		for running.Running() {
			w.look()
			time.Sleep(10 * time.Millisecond)
		}
	})
	return w
}

func (w *watch) look() {
	process, err := w.running.Process()
	if err != nil {
		return // it is gone, or going
	}
	w.mu.Lock()
	w.peak = max(w.peak, process.Anonymous)
	kill := process.Anonymous > w.ceiling
	w.killed = w.killed || kill
	w.mu.Unlock()
	if kill {
		w.running.Kill()
	}
}

// begin forgets the peak so far.
func (w *watch) begin() {
	w.mu.Lock()
	w.peak = 0
	w.mu.Unlock()
	w.look()
}

// largest is the peak since begin, and tells whether it was so large that the process was killed.
func (w *watch) largest() (peak int64, killed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.peak, w.killed
}
