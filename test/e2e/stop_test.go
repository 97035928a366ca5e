// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStopWhileUploading: an upload that has begun when the gateway is told to stop is taken to its end, and what was
// accepted is on disk when the process exits.
func TestStopWhileUploading(t *testing.T) {
	g := start(t)
	upload := readProfile(t, "heap")
	half := len(upload) / 2
	for i := range 20 {
		g.accept(t, fmt.Sprintf("?service.name=queued&resource.upload=%d", i), upload)
	}
	// The gateway says 100 when it begins to read the body: from then on the request is under way.
	connection := g.dial(t, strings.Replace(header(len(upload)), "\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n", 1))
	require.Equal(t, http.StatusContinue, readResponse(t, connection).StatusCode)
	_, err := connection.Write(upload[:half])
	require.NoError(t, err)

	require.NoError(t, g.Terminate())
	require.Eventually(t, func() bool { return g.refusesConnections(t) }, patience, 10*time.Millisecond, "it still listens")
	_, err = connection.Write(upload[half:])
	require.NoError(t, err)
	assert.Equal(t, http.StatusNoContent, readResponse(t, connection).StatusCode)
	require.NoError(t, g.Wait(patience))

	files := g.files(t)
	assert.Empty(t, unfinished(files))
	assert.Len(t, files, 21)
}

// refusesConnections tells that the gateway no longer listens.
func (g *tester) refusesConnections(t *testing.T) bool {
	t.Helper()
	var dialer net.Dialer
	connection, err := dialer.DialContext(t.Context(), "tcp", g.intake)
	if err != nil {
		return true
	}
	connection.Close()
	return false
}

// TestKill: a reader never sees half a file, whenever the gateway dies, and the next one cleans up what it left.
func TestKill(t *testing.T) {
	g := start(t)
	upload := readProfile(t, "heap")
	var uploaders sync.WaitGroup
	for uploader := range 4 {
		uploaders.Go(func() {
			for i := 0; ; i++ {
				target := fmt.Sprintf("http://%s/v1/pprof?service.name=killed-%d&resource.upload=%d", g.intake, uploader, i)
				response, err := g.client.Post(target, "", strings.NewReader(string(upload)))
				if err != nil {
					return // It is gone.
				}
				response.Body.Close()
			}
		})
	}
	require.Eventually(t, func() bool { return len(g.files(t)) >= 50 }, patience, time.Millisecond)
	g.Kill()
	uploaders.Wait()

	finished := 0
	for _, name := range g.files(t) {
		if !strings.HasSuffix(name, ".pb.gz") {
			continue
		}
		finished++
		content, err := os.ReadFile(filepath.Join(g.directory, name))
		require.NoError(t, err)
		_, err = profile.ParseData(content)
		require.NoError(t, err, name)
	}
	assert.GreaterOrEqual(t, finished, 40)

	next := start(t, "yaml:exporters::pprof::file::directory: "+g.directory)
	next.directory = g.directory
	next.waitForFiles(t, finished)
}
