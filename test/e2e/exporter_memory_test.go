// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
)

// TestServedProfilesStayWithinMaxMemory pushes profiles of 1,000 services with 4 types to a gateway that holds them for
// others to fetch, until it has had to give up the oldest. What it holds takes max_memory and a fifth at most, by its own heap,
// and its pages still answer.
func TestServedProfilesStayWithinMaxMemory(t *testing.T) {
	const services, limit = 1000, 16 << 20
	addresses, err := gateway.FreeAddresses(t.Context(), 1)
	require.NoError(t, err)
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
	transport := &http.Transport{MaxIdleConnsPerHost: uploaders}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: patience}
	var next atomic.Int64
	next.Store(int64(first))
	var group sync.WaitGroup
	for range uploaders {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < end && !t.Failed(); i = int(next.Add(1)) - 1 {
				for _, body := range bodies {
					target := fmt.Sprintf("http://%s/v1/pprof?service.name=%s-%d", g.intake, name, i)
					assert.NoError(t, uploadUntilAccepted(client, target, body))
				}
			}
		})
	}
	group.Wait()
	require.False(t, t.Failed())
}

// waitUntilHeld returns when this many pprofs, since the start, have come to where they are held.
func (g *tester) waitUntilHeld(t *testing.T, pprofs int) {
	t.Helper()
	const typesOfEach = 2
	g.waitForMetric(t, float64(pprofs*typesOfEach), "otelcol_exporter_profile_view_profiles_written")
}
