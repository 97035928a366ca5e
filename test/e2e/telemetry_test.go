// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
)

// get returns the text behind a URL that must answer 200.
func (g *tester) get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	response, err := g.client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, string(text))
	return string(text)
}

// metric sums the Collector's own time series of this name that have all of these labels, each of the form `key="value"`.
// A series that has not begun counts 0.
func (g *tester) metric(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	sum := 0.0
	for line := range strings.Lines(g.get(t, "http://"+g.metrics+"/metrics")) {
		series, value, found := cutLast(strings.TrimSpace(line), " ")
		if !found || series != name && !strings.HasPrefix(series, name+"{") || !containsAll(series, labels) {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		require.NoError(t, err, line)
		sum += number
	}
	return sum
}

// waitForMetric returns once the metric has reached want, and fails if it passes it.
func (g *tester) waitForMetric(t *testing.T, want float64, name string, labels ...string) {
	t.Helper()
	var got float64
	require.Eventually(t, func() bool {
		got = g.metric(t, name, labels...)
		return got >= want
	}, patience, 50*time.Millisecond, "%s %v does not reach %g", name, labels, want)
	require.InDelta(t, want, got, 0, "%s %v", name, labels)
}

func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

func containsAll(s string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(s, part) {
			return false
		}
	}
	return true
}

// goroutines counts those of the gateway, by its own goroutine profile.
func (g *tester) goroutines(t *testing.T) int {
	t.Helper()
	var n int
	_, err := fmt.Sscanf(g.get(t, "http://"+g.profiling+"/debug/pprof/goroutine?debug=1"), "goroutine profile: total %d", &n)
	require.NoError(t, err)
	return n
}

// waitForGoroutines returns once there are at most limit goroutines, as when every request has ended.
func (g *tester) waitForGoroutines(t *testing.T, limit int) {
	t.Helper()
	var got int
	require.Eventually(t, func() bool {
		got = g.goroutines(t)
		return got <= limit
	}, patience, 50*time.Millisecond, "goroutines stay above %d", limit)
}

// waitForOpenFiles returns once at most limit files and sockets are open: a socket outlives its last answer a little.
func (g *tester) waitForOpenFiles(t *testing.T, limit int) {
	t.Helper()
	require.Eventually(t, func() bool { return g.process(t).Files <= limit }, patience, 50*time.Millisecond,
		"more than %d files and sockets stay open", limit)
}

// liveHeap is the size of all objects that are still reachable.
func (g *tester) liveHeap(t *testing.T) int64 {
	t.Helper()
	var text string
	for range 2 { // What a pool holds survives the first collection.
		text = g.get(t, "http://"+g.profiling+"/debug/pprof/heap?gc=1&debug=1")
	}
	_, after, found := strings.Cut(text, "\n# HeapAlloc = ")
	require.True(t, found, "the heap profile has no HeapAlloc")
	var n int64
	_, err := fmt.Sscanf(after, "%d", &n)
	require.NoError(t, err)
	return n
}

// process is what the system says of the gateway.
func (g *tester) process(t *testing.T) gateway.Process {
	t.Helper()
	p, err := g.Process()
	require.NoError(t, err)
	return p
}
