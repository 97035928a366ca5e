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

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/requirement"
)

// freePort returns a port of loopback that was free.
func freePort(t *testing.T) int {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// debuginfodOf starts elfutils' server of the files in a directory, and returns a configuration with it when it knows the program.
func debuginfodOf(t *testing.T, directory, buildID string) (cfg *Config, stop func()) {
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
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	client := http.Client{Timeout: 5 * time.Second}
	require.Eventually(t, func() bool {
		response, err := client.Get(url + "/buildid/" + buildID + "/debuginfo") //nolint:noctx // a poll with a timeout
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, 2*time.Minute, 100*time.Millisecond)
	cfg = createDefaultConfig().(*Config)
	cfg.Debuginfod = []DebuginfodConfig{{HTTP: confighttp.NewDefaultClientConfig()}}
	cfg.Debuginfod[0].HTTP.Endpoint = url
	cfg.MaxWait = time.Minute
	return cfg, stop
}

// The names of a program that is larger than max_file_size come from the sections that a real debuginfod gives.
func TestSectionsOfRealDebuginfod(t *testing.T) {
	directory := t.TempDir()
	c := compileC(t, directory)
	info := must.Get(os.Stat(c.path))(t)
	cfg, _ := debuginfodOf(t, directory, c.buildID)
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
	cfg, stop := debuginfodOf(t, directory, c.buildID)
	cfg.FailedFor = time.Millisecond
	s, sink := symbolizerOf(t, nil, cfg)
	require.NoError(t, s.ConsumeProfiles(t.Context(), messageOf(c)))
	require.NoError(t, profiletest.Check(last(sink)))
	require.Contains(t, namesIn(last(sink)), "outer")

	stop()
	require.NoError(t, s.ConsumeProfiles(t.Context(), messageOf(c)))
	assert.Contains(t, namesIn(last(sink)), "outer", "from the cache")
	other := c
	other.buildID = "ff" + c.buildID[2:]
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.NoError(t, s.ConsumeProfiles(ctx, messageOf(other)))
	assert.Empty(t, namesIn(last(sink)))
	assert.Equal(t, filepath.Join(directory, "program"), c.path)
}
