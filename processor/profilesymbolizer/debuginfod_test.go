// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesymbolizer

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/confighttp"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/requirement"
)

// freePort returns a port of loopback that was free.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// debuginfodOf starts elfutils' server of the files in a directory, and returns its URL when it knows the program.
func debuginfodOf(t *testing.T, directory, buildID string) (url string, stop func()) {
	t.Helper()
	requirement.Symbolizers(t, "debuginfod")
	port := freePort(t)
	var output bytes.Buffer
	server := exec.Command("debuginfod", "-F", "-d", ":memory:", "-p", strconv.Itoa(port), directory)
	server.Dir = t.TempDir()
	server.Env = append(server.Environ(), "HOME="+server.Dir, "DEBUGINFOD_URLS=")
	server.Stdout, server.Stderr = &output, &output
	require.NoError(t, server.Start())
	stop = func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}
	t.Cleanup(stop)
	url = fmt.Sprintf("http://127.0.0.1:%d", port)
	client := http.Client{Timeout: 5 * time.Second}
	require.Eventually(t, func() bool {
		response, err := client.Get(url + "/buildid/" + buildID + "/debuginfo") //nolint:noctx // a poll with a timeout
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, 2*time.Minute, 100*time.Millisecond)
	return url, stop
}

// The names of a program that is larger than max_file_size come from the sections that a real debuginfod gives.
func TestSectionsOfRealDebuginfod(t *testing.T) {
	directory := t.TempDir()
	c := compileC(t, directory)
	info, err := os.Stat(c.path)
	require.NoError(t, err)
	cfg := createDefaultConfig().(*Config)
	server := DebuginfodConfig{HTTP: confighttp.NewDefaultClientConfig()}
	var stop func()
	server.HTTP.Endpoint, stop = debuginfodOf(t, directory, c.buildID)
	defer stop()
	cfg.Debuginfod = []DebuginfodConfig{server}
	cfg.MaxWait = time.Minute
	cfg.MaxFileSize = info.Size() - 1
	s, sink := symbolizerOf(t, nil, cfg)
	require.NoError(t, s.ConsumeProfiles(t.Context(), messageOf(c)))
	require.NoError(t, profiletest.Check(last(sink)))
	for location := range c.size {
		names, lines := linesOf(last(sink).Dictionary(), int(location)+1)
		assert.Equal(t, []string{"outer"}, names)
		assert.Equal(t, []int64{0}, lines, "the sections have no lines")
	}
}

// Debug information of a stripped program comes from a real debuginfod. When that is killed, what is known stays, and messages go on.
func TestRealDebuginfod(t *testing.T) {
	directory := t.TempDir()
	c := compileC(t, directory)
	url, stop := debuginfodOf(t, directory, c.buildID)
	cfg := createDefaultConfig().(*Config)
	server := DebuginfodConfig{HTTP: confighttp.NewDefaultClientConfig()}
	server.HTTP.Endpoint = url
	cfg.Debuginfod = []DebuginfodConfig{server}
	cfg.MaxWait = time.Minute
	cfg.FailedFor = time.Millisecond
	s, sink := symbolizerOf(t, nil, cfg)
	require.NoError(t, s.ConsumeProfiles(t.Context(), messageOf(c)))
	require.NoError(t, profiletest.Check(last(sink)))
	names, _ := linesOf(last(sink).Dictionary(), 1)
	require.Contains(t, names, "outer")

	stop()
	require.NoError(t, s.ConsumeProfiles(t.Context(), messageOf(c)))
	names, _ = linesOf(last(sink).Dictionary(), 1)
	assert.Contains(t, names, "outer", "from the cache")
	other := c
	other.buildID = "ff" + c.buildID[2:]
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.NoError(t, s.ConsumeProfiles(ctx, messageOf(other)))
	names, _ = linesOf(last(sink).Dictionary(), 1)
	assert.Empty(t, names)
	assert.Equal(t, filepath.Join(directory, "program"), c.path)
}
