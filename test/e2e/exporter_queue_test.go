// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
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
	addresses, err := gateway.FreeAddresses(t.Context(), 1)
	require.NoError(t, err)
	d := &destination{address: addresses[0], arrived: map[string][][]byte{}}
	t.Cleanup(d.leave)
	return d
}

func (d *destination) come(t *testing.T) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", d.address)
	require.NoError(t, err)
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
	p, err := profile.ParseData(payload)
	require.NoError(t, err)
	return p
}
