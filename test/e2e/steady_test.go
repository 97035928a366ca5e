// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

const (
	shortRun = 1000
	// warmUp is after how many uploads the gateway must have what it needs; in a short run, after a third of them.
	warmUp = 2000
	// uploaders send at the same time.
	uploaders = 4
	// heapSlack is what the live heap may vary by: metrics, pools, connections that have not ended.
	heapSlack = 1 << 20
)

// TestSteadyState uploads many profiles and holds that the gateway ends as it was after the first of them: the same
// memory, no goroutine and no socket more, and a file for each accepted upload. `make soak` runs it with 20,000.
func TestSteadyState(t *testing.T) {
	uploads := shortRun
	if text := os.Getenv("OTELPPROF_SOAK_UPLOADS"); text != "" {
		var err error
		uploads, err = strconv.Atoi(text)
		require.NoError(t, err, "OTELPPROF_SOAK_UPLOADS")
	}
	// A short queue and few profiles to look at: what waits is memory too, and how much waits is up to the disk.
	g := start(t, "yaml:exporters::pprof::sending_queue: {sizer: requests, queue_size: 16, num_consumers: 4}",
		"yaml:exporters::profile_view::max_memory: 1048576")
	begin := time.Now()
	part := min(warmUp, uploads/3)
	g.uploadMany(t, 0, part)
	g.waitForFiles(t, part)
	goroutines, openFiles, heap := g.goroutines(t), g.process(t).Files, g.liveHeap(t)

	early := g.uploadMany(t, part, 2*part)
	g.uploadMany(t, 2*part, uploads-part)
	late := g.uploadMany(t, uploads-part, uploads)
	g.waitForFiles(t, uploads)
	t.Logf("%d uploads in %s; resident memory %d MiB in the %d after the first %d, %d MiB in the last %d; live heap %d kiB and %d kiB; %d goroutines",
		uploads, time.Since(begin).Round(time.Millisecond), early>>20, part, part, late>>20, part, heap>>10, g.liveHeap(t)>>10, goroutines)
	assert.LessOrEqual(t, g.liveHeap(t), heap+heapSlack, "live heap")
	if part == warmUp { // A short run ends before the garbage collector has found its rhythm.
		assert.LessOrEqual(t, late, early+early/5, "resident memory")
	}
	g.waitForGoroutines(t, goroutines)
	g.waitForOpenFiles(t, openFiles)
}

// uploadMany sends the uploads from first to before end, each until it is accepted, and returns the median of the
// resident memory meanwhile.
func (g *tester) uploadMany(t *testing.T, first, end int) int64 {
	t.Helper()
	payloads := steadyPayloads(t)
	resident := make([]int64, end)
	g.uploadEach(t, first, end, func(i int, upload func(query string, payload []byte)) {
		// The resource makes each upload another profile, with an id and a file of its own.
		upload(fmt.Sprintf("?service.name=soak-%d&resource.upload=%d", i%20, i), payloads[i%len(payloads)])
		process, err := g.Process()
		assert.NoError(t, err)
		resident[i] = process.Resident
	})
	resident = resident[first:]
	slices.Sort(resident)
	return resident[len(resident)/2]
}

// uploadEach calls each, for the numbers from first to before end, from several senders. upload sends a profile until it is accepted.
func (g *tester) uploadEach(t *testing.T, first, end int, each func(i int, upload func(query string, payload []byte))) {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: uploaders}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: patience}
	upload := func(query string, payload []byte) {
		assert.NoError(t, uploadUntilAccepted(client, "http://"+g.intake+"/v1/pprof"+query, payload), query)
	}
	var next atomic.Int64
	next.Store(int64(first))
	var group sync.WaitGroup
	for range uploaders {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < end && !t.Failed(); i = int(next.Add(1)) - 1 {
				each(i, upload)
			}
		})
	}
	group.Wait()
	require.False(t, t.Failed())
}

// steadyPayloads are a hundred uploads, as a fleet sends them: many small profiles, some of 100 kB, one of 600 kB.
func steadyPayloads(t *testing.T) [][]byte {
	t.Helper()
	small := [][]byte{readProfile(t, "goroutine"), readProfile(t, "labelled"), readProfile(t, "mutex"), readProfile(t, "block")}
	payloads := make([][]byte, 100)
	for i := range payloads {
		payloads[i] = small[i%len(small)]
		if i%10 == 0 {
			payloads[i] = readProfile(t, "cpu")
		}
	}
	payloads[50] = readProfile(t, "heap")
	return payloads
}

// uploadUntilAccepted repeats an upload for as long as it is told to come back.
func uploadUntilAccepted(client *http.Client, target string, payload []byte) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		response, err := client.Post(target, "", bytes.NewReader(payload))
		if err != nil {
			return err
		}
		response.Body.Close()
		switch response.StatusCode {
		case http.StatusNoContent:
			return nil
		case http.StatusServiceUnavailable:
		default:
			return fmt.Errorf("the gateway answers %s", response.Status)
		}
	}
	return fmt.Errorf("the gateway refuses for %s", patience)
}

// get returns the text behind a URL that must answer 200.
func get(t require.TestingT, url string) string {
	answer := gatewaytest.Send(t, http.MethodGet, url, nil)
	require.Equal(t, http.StatusOK, answer.Status, answer.Text)
	return answer.Text
}

// metric sums the Collector's own time series of this name that have all of these labels, each of the form `key="value"`.
// A series that has not begun counts 0.
func (g *tester) metric(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	sum := 0.0
	for line := range strings.Lines(get(t, "http://"+g.metrics+"/metrics")) {
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
	_, err := fmt.Sscanf(get(t, "http://"+g.profiling+"/debug/pprof/goroutine?debug=1"), "goroutine profile: total %d", &n)
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
		text = get(t, "http://"+g.profiling+"/debug/pprof/heap?gc=1&debug=1")
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
	p := must.Get(g.Process())(t)
	return p
}
