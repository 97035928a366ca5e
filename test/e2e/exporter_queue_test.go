// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// destination is a server that the exporter pushes to. It can be away and come back at its address.
type destination struct {
	address string
	server  *http.Server
	served  sync.WaitGroup

	mu sync.Mutex
	// status answers the next requests; each is taken once.
	statuses []int
	// arrived are the profiles taken with 200, by service.
	arrived map[string][][]byte
}

func newDestination(t *testing.T) *destination {
	t.Helper()
	addresses := must.Get(gateway.FreeAddresses(t.Context(), 1))(t)
	d := &destination{address: addresses[0], arrived: map[string][][]byte{}}
	t.Cleanup(d.leave)
	return d
}

func (d *destination) come(t *testing.T) {
	t.Helper()
	listener := must.Get((&net.ListenConfig{}).Listen(t.Context(), "tcp", d.address))(t)
	server := &http.Server{Handler: http.HandlerFunc(d.take), ReadHeaderTimeout: patience}
	d.server = server
	d.served.Go(func() { _ = server.Serve(listener) })
}

func (d *destination) leave() {
	if d.server != nil {
		_ = d.server.Close()
		d.served.Wait()
		d.server = nil
	}
}

// take answers a request. A status of 0 cuts the connection in the middle of the answer.
func (d *destination) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<24))
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	status := http.StatusOK
	if len(d.statuses) > 0 {
		status, d.statuses = d.statuses[0], d.statuses[1:]
	}
	switch status {
	case 0:
		panic(http.ErrAbortHandler)
	case http.StatusOK:
		service := r.URL.Query().Get("service.name")
		d.arrived[service] = append(d.arrived[service], body)
	default:
		w.WriteHeader(status)
	}
}

// services is how many services' profiles arrived.
func (d *destination) services() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.arrived)
}

// pushing are the overrides of a gateway that pushes to d and has its queue on the disk.
func (d *destination) pushing(storage string) []string {
	return []string{
		fmt.Sprintf("yaml:exporters: {pprof/push: {http: {endpoint: 'http://%s/up'}, "+
			"retry_on_failure: {initial_interval: 50ms, max_interval: 500ms, max_elapsed_time: 0s}, "+
			"sending_queue: {storage: file_storage}}}", d.address),
		fmt.Sprintf("yaml:extensions: {file_storage: {directory: %s, create_directory: true}}", storage),
		"yaml:service: {extensions: [health_check, pprof, file_storage], pipelines: {profiles: {exporters: [pprof/push]}}}",
	}
}

// The gateway is killed with profiles in its queue while the destination is away, and once more while it sends. What it
// had accepted arrives.
func TestQueueOnDiskSurvivesKill(t *testing.T) {
	const perRun = 12
	d := newDestination(t)
	storage := filepath.Join(t.TempDir(), "queue")
	payload := readProfile(t, "cpu")
	sent := 0
	upload := func(g *tester) {
		for range perRun {
			g.accept(t, "?service.name=service-"+strconv.Itoa(sent), payload)
			sent++
		}
	}

	g := start(t, d.pushing(storage)...)
	upload(g)
	g.Kill() // kill -9: nothing is written out, nothing is said goodbye to
	assert.Zero(t, d.services())

	g = start(t, d.pushing(storage)...)
	upload(g)
	d.statuses = []int{503, 0, 200, 200, 500, 429, 0, 200}
	d.come(t)
	require.Eventually(t, func() bool { return d.services() >= 3 }, patience, time.Millisecond)
	g.Kill() // in the middle
	g = start(t, d.pushing(storage)...)
	upload(g)
	require.Eventually(t, func() bool { return d.services() == sent }, patience, 20*time.Millisecond, "all arrive")
	require.NoError(t, g.Stop(patience))

	want := parse(t, payload)
	d.mu.Lock()
	defer d.mu.Unlock()
	repeated := 0
	for service, bodies := range d.arrived {
		for _, body := range bodies {
			assert.Empty(t, profiletest.DiffPprof(want, parse(t, body)), service)
		}
		repeated += len(bodies) - 1
	}
	t.Logf("%d profiles arrived, %d of them once more: a kill between the answer and its note repeats them", sent, repeated)
	// Only what was being sent when the gateway was killed can come twice: one for each consumer of the queue.
	assert.LessOrEqual(t, repeated, 10)
}

func parse(t *testing.T, payload []byte) *profile.Profile {
	t.Helper()
	p := must.Get(profile.ParseData(payload))(t)
	return p
}

// TestServedProfilesStayWithinMaxMemory pushes profiles of 1,000 services with 4 types to a gateway that holds them for
// others to fetch, until it has had to give up the oldest. What it holds takes max_memory and a fifth at most, by its own heap,
// and its pages still answer.
func TestServedProfilesStayWithinMaxMemory(t *testing.T) {
	const services, limit = 1000, 16 << 20
	addresses := must.Get(gateway.FreeAddresses(t.Context(), 1))(t)
	g := start(t,
		fmt.Sprintf("yaml:exporters: {profile_view: {endpoint: '%s', max_memory: %d}}", addresses[0], limit),
		"yaml:service: {pipelines: {profiles: {exporters: [profile_view]}}}")
	const served = "otelcol_exporter_profile_view_served_bytes"

	// A profile of each type first: what is made once is no part of what is held.
	bodies := fourTypes(t)
	g.push(t, "first", 0, 100, bodies)
	g.waitUntilHeld(t, 100*len(bodies))
	before := g.liveHeap(t) - int64(g.metric(t, served))

	g.push(t, "service", 0, services, bodies)
	g.waitUntilHeld(t, (100+services)*len(bodies))
	held, taken := int64(g.metric(t, served)), g.liveHeap(t)-before
	t.Logf("%.0f profiles are held, counted as %d kiB, which take %d kiB", g.metric(t, "otelcol_exporter_profile_view_served_profiles"), held>>10, taken>>10)
	assert.Positive(t, g.metric(t, "otelcol_exporter_profile_view_profiles_evicted", `reason="memory"`))
	assert.Greater(t, held, int64(limit*9/10), "full")
	assert.LessOrEqual(t, held, int64(limit))
	assert.LessOrEqual(t, taken, int64(limit*12/10))
	for _, path := range []string{"/", "/profiles", "/profiles/service-999/type-3-1", "/plain"} {
		assert.NotEmpty(t, g.fetch(t, "http://"+addresses[0]+path))
	}
}

// fourTypes are profiles whose sample types differ.
func fourTypes(t *testing.T) (bodies [][]byte) {
	t.Helper()
	p := parse(t, readProfile(t, "mutex"))
	for i := range 4 {
		for j := range p.SampleType {
			p.SampleType[j].Type = fmt.Sprintf("type-%d-%d", i, j)
		}
		var body bytes.Buffer
		require.NoError(t, p.Write(&body))
		bodies = append(bodies, body.Bytes())
	}
	return bodies
}

// push uploads the bodies for the services of this name from first to before end, each until it is accepted.
func (g *tester) push(t *testing.T, name string, first, end int, bodies [][]byte) {
	t.Helper()
	g.uploadEach(t, first, end, func(i int, upload func(query string, payload []byte)) {
		for _, body := range bodies {
			upload(fmt.Sprintf("?service.name=%s-%d", name, i), body)
		}
	})
}

// waitUntilHeld returns when this many pprofs, since the start, have come to where they are held.
func (g *tester) waitUntilHeld(t *testing.T, pprofs int) {
	t.Helper()
	const typesOfEach = 2
	g.waitForMetric(t, float64(pprofs*typesOfEach), "otelcol_exporter_profile_view_profiles_written")
}
