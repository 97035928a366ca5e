// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
)

// reload sends SIGHUP and waits until the gateway has started a service for the nth time.
func (g *tester) reload(t *testing.T, nth int) {
	t.Helper()
	require.NoError(t, syscall.Kill(g.PID(), syscall.SIGHUP))
	require.Eventually(t, func() bool { return strings.Count(g.Log(), "Everything is ready") == nth }, patience, 10*time.Millisecond)
}

// TestReload: over a reload all that was accepted is written, what the pages show is gone, and uploads are taken again.
func TestReload(t *testing.T) {
	t.Parallel()
	addresses, err := gateway.FreeAddresses(t.Context(), 1)
	require.NoError(t, err)
	pages := "http://" + addresses[0]
	g := start(t,
		"yaml:exporters: {profile_view: {endpoint: '"+addresses[0]+"'}}",
		"yaml:processors: {profile_deduplicator: {batch: {timeout: 1s}}}",
		"yaml:service: {pipelines: {profiles: {exporters: [pprof, profile_view], processors: [profile_deduplicator]}}}")
	upload := readProfile(t, "heap")
	const uploads = 20
	for i := range uploads {
		g.accept(t, fmt.Sprintf("?service.name=reloaded&resource.upload=%d", i), upload)
	}
	g.fetch(t, pages+"/profiles/reloaded/inuse_space")
	process := g.PID()
	g.reload(t, 2)
	assert.Equal(t, process, g.PID())
	assert.Len(t, g.files(t), uploads, "batches and queues were emptied first")
	assert.Equal(t, http.StatusNotFound, gatewaytest.Send(t, http.MethodGet, pages+"/profiles/reloaded/inuse_space", nil).Status)

	g.accept(t, "?service.name=reloaded&resource.upload=after", upload)
	g.fetch(t, pages+"/profiles/reloaded/inuse_space")
}

// TestReloadWrong: a configuration that is wrong ends the process, and nothing that was accepted is lost.
func TestReloadWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "more.yaml")
	require.NoError(t, os.WriteFile(file, []byte("processors: {profile_deduplicator: {batch: {timeout: 1h, wait_for_result: false}}}\n"), 0o600))
	g := start(t, "file:"+file, "yaml:service: {pipelines: {profiles: {processors: [profile_deduplicator]}}}")
	g.accept(t, "?service.name=kept", readProfile(t, "heap"))
	require.NoError(t, os.WriteFile(file, []byte("processors: {profile_deduplicator: {batch: {timeout: 30}}}\n"), 0o600))
	require.NoError(t, syscall.Kill(g.PID(), syscall.SIGHUP))
	require.ErrorContains(t, g.Wait(patience), "exit status 1")
	assert.Contains(t, g.Log(), "batch::timeout is 30ns, which is less than 1ms: write a unit, for example 30s")
	assert.Len(t, g.files(t), 1, "what the batch held")
}
