// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jvm

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// jdks returns the directories of the programs of all JDKs: of the one in PATH, and of those that Linux distributions install. Without a
// JDK the test is skipped, but not in CI.
func jdks(t *testing.T) (directories []string) {
	t.Helper()
	found := must.Get(filepath.Glob("/usr/lib/jvm/*/bin/jfr"))(t)
	if path, err := exec.LookPath("jfr"); err == nil {
		found = append(found, path)
	}
	for _, path := range found {
		path := must.Get(filepath.EvalSymlinks(path))(t)
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "javac")); err == nil && !slices.Contains(directories, filepath.Dir(path)) {
			directories = append(directories, filepath.Dir(path))
		}
	}
	if len(directories) == 0 {
		require.Empty(t, os.Getenv("CI"), "a JDK is needed")
		t.Skip("a JDK is needed")
	}
	return directories
}

// record runs the program and returns the path of its recording.
func record(t *testing.T, jdk string) string {
	t.Helper()
	settings := must.Get(filepath.Abs("testdata/busy.jfc"))(t)
	directory := t.TempDir()
	path := filepath.Join(directory, "busy.jfr")
	run(t, filepath.Join(jdk, "javac"), "-d", directory, "testdata/Busy.java")
	run(t, filepath.Join(jdk, "java"), "-Xmx64m", "-XX:StartFlightRecording=settings="+settings+",filename="+path, "-cp", directory, "Busy", "2100")
	return path
}

func run(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	require.NoError(t, err, "%s: %s", name, stderr.String())
	return out
}

// event is what the JDK prints of an event, as far as a profile has it.
type event struct {
	StartTime      time.Time `json:"startTime"`
	Duration       string    `json:"duration"`
	TLABSize       int64     `json:"tlabSize"`
	AllocationSize int64     `json:"allocationSize"`
	Weight         int64     `json:"weight"`
	SamplingPeriod string    `json:"samplingPeriod"`
	// Name and Value are those of a setting.
	Name          string `json:"name"`
	Value         string `json:"value"`
	SampledThread thread `json:"sampledThread"`
	EventThread   thread `json:"eventThread"`
	StackTrace    struct {
		Frames []frame `json:"frames"`
	} `json:"stackTrace"`
}

type thread struct {
	JavaName string `json:"javaName"`
}

type frame struct {
	Method struct {
		Name string `json:"name"`
		Type struct {
			Name string `json:"name"`
		} `json:"type"`
	} `json:"method"`
	LineNumber int64 `json:"lineNumber"`
}

// printed returns what the JDK prints of a recording, by the names of the events.
func printed(t *testing.T, jdk, path string, names ...string) map[string][]event {
	t.Helper()
	out := run(t, filepath.Join(jdk, "jfr"), "print", "--json", "--stack-depth", "64", "--events", strings.Join(names, ","), path)
	var document struct {
		Recording struct {
			Events []struct {
				Type   string `json:"type"`
				Values event  `json:"values"`
			} `json:"events"`
		} `json:"recording"`
	}
	require.NoError(t, json.Unmarshal(out, &document))
	all := map[string][]event{}
	for _, e := range document.Recording.Events {
		all[e.Type] = append(all[e.Type], e.Values)
	}
	for _, name := range names {
		if name != "jdk.CPUTimeSample" { // JDK 25 has it.
			require.NotEmpty(t, all[name], name)
		}
	}
	return all
}

// sumOf adds up a value of events.
func sumOf(events []event, value func(e *event) int64) (sum int64) {
	for i := range events {
		sum += value(&events[i])
	}
	return sum
}

// duration reads a duration as Java prints it: PT0.02S.
func duration(t *testing.T, text string) int64 {
	t.Helper()
	d := must.Get(time.ParseDuration(strings.ToLower(strings.TrimPrefix(text, "PT"))))(t)
	return int64(d)
}

// periodAt returns the period of execution samples at the time of an event, in nanoseconds: the last setting before it.
func periodAt(settings []event, at time.Time) int64 {
	period, since := int64(0), time.Time{}
	for i := range settings {
		s := &settings[i]
		// Busy.java and busy.jfc set them for no other event.
		known := map[string]int64{"10 ms": 10_000_000, "10000000 ns": 10_000_000, "5000000 ns": 5_000_000}[s.Value]
		if s.Name == "period" && known != 0 && s.StartTime.Before(at) && s.StartTime.After(since) {
			period, since = known, s.StartTime
		}
	}
	return period
}

// timesOf returns the times of events in ascending order.
func timesOf(events []event) (times []int64) {
	for i := range events {
		times = append(times, events[i].StartTime.UnixNano())
	}
	slices.Sort(times)
	return times
}

// clockStep returns how far the clocks of successive chunks of a recording are from each other, added up. The reader of the JDK can
// read a chunk by the clock of one before.
func clockStep(recording []byte) (sum time.Duration) {
	const size, startNanos, startTicks, frequency = 8, 32, 48, 56 // positions in the header of a chunk
	var nanos, ticks uint64
	for chunk := recording; len(chunk) > 0; {
		number := func(at int) uint64 { return binary.BigEndian.Uint64(chunk[at:]) }
		if nanos > 0 {
			passed := float64(number(startTicks)-ticks) / float64(number(frequency)) * 1e9
			sum += time.Duration(math.Abs(float64(number(startNanos)-nanos)-passed)) + 1
		}
		nanos, ticks = number(startNanos), number(startTicks)
		chunk = chunk[number(size):]
	}
	return sum
}

// assertTimes compares times, which may differ by step. The JDK also computes in floating point, so that its times are some
// nanoseconds off.
func assertTimes(t *testing.T, want, got []int64, step time.Duration, key string) {
	t.Helper()
	if !assert.Len(t, got, len(want), key) {
		return
	}
	for i := range want {
		if !assert.InDelta(t, 0, want[i]-got[i], float64(time.Microsecond+step), "%s: event %d", key, i) {
			return
		}
	}
}

// stacksOf counts events by their thread and their stack.
func stacksOf(events []event, ofThread func(e *event) thread) map[string]int {
	stacks := map[string]int{}
	for i := range events {
		e := &events[i]
		stacks[ofThread(e).JavaName+"|"+stackText(e.StackTrace.Frames)]++
	}
	return stacks
}
