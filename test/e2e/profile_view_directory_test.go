// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
)

// storing is a gateway that has a copy of what its pages show in a directory. more is configuration of the exporter.
func storing(t *testing.T, directory, more string) (g *tester, pages string) {
	t.Helper()
	addresses, err := gateway.FreeAddresses(t.Context(), 1)
	require.NoError(t, err)
	g = start(t,
		fmt.Sprintf("yaml:exporters: {profile_view: {endpoint: '%s', directory: '%s', tenant: {metadata_key: x-scope-orgid, default: shared}, %s}}", addresses[0], directory, more),
		"yaml:receivers: {pprof: {server: {include_metadata: true}}}",
		"yaml:service: {pipelines: {profiles: {exporters: [profile_view]}}}")
	return g, "http://" + addresses[0]
}

// held returns how many profiles a tenant sees of each service.
func (g *tester) held(t *testing.T, pages, tenant string) map[string]int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, pages+"/profiles", http.NoBody)
	require.NoError(t, err)
	request.Header.Set("X-Scope-Orgid", tenant)
	response, err := g.client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	var all []struct {
		Service  string
		Profiles int
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&all))
	counts := map[string]int{}
	for _, s := range all {
		counts[s.Service] += s.Profiles
	}
	return counts
}

// stored waits until there are so many files.
func (g *tester) stored(t *testing.T, profiles int) {
	t.Helper()
	g.waitForMetric(t, float64(profiles), "otelcol_exporter_profile_view_stored_profiles")
}

// TestPagesOutliveTheProcess: after a kill and after a reload the pages show what they showed before.
func TestPagesOutliveTheProcess(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "recent")
	g, pages := storing(t, directory, "max_age: 1h")
	upload := readProfile(t, "heap")
	for i := range 4 {
		suffix := fmt.Sprintf("?service.name=kept&resource.upload=%d", i%3)
		require.Equal(t, http.StatusNoContent, g.post(t, suffix, upload).status)
	}
	require.Equal(t, http.StatusNoContent, g.post(t, "?service.name=secret", upload, "X-Scope-OrgID", "other").status)
	g.stored(t, 4)
	page := "/download/collapsed?type=memory:inuse_space:bytes:space:bytes&query=" + url.QueryEscape(`{service_name="kept"}`)
	want := g.fetch(t, pages+page)
	g.Kill()

	g, pages = storing(t, directory, "max_age: 1h")
	assert.Equal(t, string(want), string(g.fetch(t, pages+page)))
	assert.Equal(t, map[string]int{"kept": 3}, g.held(t, pages, ""), "nothing of another tenant")
	assert.Equal(t, map[string]int{"secret": 1}, g.held(t, pages, "other"))
	require.Equal(t, http.StatusNoContent, g.post(t, "?service.name=kept&resource.upload=0", upload).status)
	require.Equal(t, http.StatusNoContent, g.post(t, "?service.name=kept&resource.upload=new", upload).status)
	g.stored(t, 5)
	assert.Equal(t, map[string]int{"kept": 4}, g.held(t, pages, ""), "equal uploads are one")
	want = g.fetch(t, pages+page)
	g.reload(t, 2)
	assert.Equal(t, string(want), string(g.fetch(t, pages+page)))
	require.NoError(t, g.Stop(patience))

	// A smaller disk keeps the newest file.
	g, _ = storing(t, directory, "max_age: 1h, max_disk: 1KiB")
	const stored = "otelcol_exporter_profile_view_stored_profiles"
	require.Eventually(t, func() bool { return g.metric(t, stored) == 1 }, patience, 20*time.Millisecond)
}
