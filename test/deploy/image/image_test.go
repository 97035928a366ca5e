// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	user = 10001
	gate = "--feature-gates=service.profilesSupport"
)

// TestImage builds the image once, and then looks at it and runs it.
func TestImage(t *testing.T) {
	e := newEngine(t)
	e.build(t)
	e.assertContents(t)
	e.requireContainers(t)
	t.Run("as it is", func(t *testing.T) { testAsItIs(t, e) })
	t.Run("files on a volume", func(t *testing.T) { testVolume(t, e) })
	t.Run("volume of another user", func(t *testing.T) { testForeignVolume(t, e) })
}

// testAsItIs runs it with its own configuration.
func testAsItIs(t *testing.T, e engine) {
	t.Helper()
	begin := time.Now()
	c := e.run(t, "plain", nil)
	c.enter(t, e, "plain")
	t.Logf("healthy in %s", time.Since(begin).Round(time.Millisecond))

	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.process))
	require.NoError(t, err)
	for _, line := range []string{`Uid:\t10001\t10001\t10001\t10001`, `Gid:\t10001\t10001\t10001\t10001`, `CapEff:\t0+`, `CapBnd:\t0+`, `NoNewPrivs:\t1`, `Seccomp:\t2`} {
		assert.Regexp(t, `(?m)^`+line+`$`, string(status))
	}

	c.upload(t, "checkout")
	assert.Eventually(t, func() bool { return strings.Contains(c.get(t, "http://127.0.0.1:4041/profiles"), "checkout") }, time.Minute, 50*time.Millisecond)

	// Both read the limit of the container, not the memory of the machine.
	size := regexp.MustCompile(`(?m)^otelcol_extension_memory_budget_size(?:\{.*\})? (\S+)$`).FindStringSubmatch(c.get(t, "http://127.0.0.1:8888/metrics"))
	require.NotNil(t, size)
	assert.Equal(t, "1.2582912e+08", size[1], "40% of 300 MiB")
	assert.Regexp(t, `Memory limiter configured.*"limit_mib": 225`, c.log.String(), "75% of 300 MiB")

	took := c.stop(t)
	assert.Less(t, took, grace)
	t.Logf("stopped in %s", took.Round(time.Millisecond))
}

// withFiles adds an exporter of files to the configuration of the image.
const withFiles = `yaml:
exporters:
  pprof:
    file:
      directory: /profiles
service:
  pipelines:
    profiles:
      exporters: [profile_view, pprof]
`

func testVolume(t *testing.T, e engine) {
	t.Helper()
	volume := t.TempDir()
	require.NoError(t, os.Chown(volume, user, user))
	c := e.run(t, "files", []string{"--volume", volume + ":/profiles"}, "--config=/etc/otelcol-pprof/config.yaml", "--config="+withFiles, gate)
	c.enter(t, e, "files")
	c.upload(t, "cart")
	var found []string
	require.Eventually(t, func() bool {
		found, _ = filepath.Glob(filepath.Join(volume, "cart", "*", "*.pb.gz"))
		return len(found) > 0
	}, time.Minute, 50*time.Millisecond, c.log)
	content, err := os.ReadFile(found[0])
	require.NoError(t, err)
	assert.True(t, bytes.HasPrefix(content, []byte{0x1f, 0x8b}), "gzip")
	assert.Less(t, c.stop(t), grace)
}

// testForeignVolume: what cannot be written is said at the start, with the directory.
func testForeignVolume(t *testing.T, e engine) {
	t.Helper()
	volume := t.TempDir()
	require.NoError(t, os.Chmod(volume, 0o755))
	c := e.run(t, "foreign", []string{"--volume", volume + ":/profiles"}, "--config=/etc/otelcol-pprof/config.yaml", "--config="+withFiles, gate)
	select {
	case err := <-c.ended:
		c.ended = nil
		require.Error(t, err)
	case <-time.After(patience):
		require.Fail(t, "it runs", c.log)
	}
	assert.Regexp(t, `/profiles.*permission denied`, c.log.String())
}

// upload sends a profile under the name of a service.
func (c *container) upload(t *testing.T, service string) {
	t.Helper()
	profile, err := os.ReadFile(root + "/testdata/pprof/cpu.pb.gz")
	require.NoError(t, err)
	response, err := c.client.Post("http://127.0.0.1:4040/v1/pprof?service.name="+service, "application/octet-stream", bytes.NewReader(profile))
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, http.StatusNoContent, response.StatusCode, string(body))
}

func (c *container) get(t *testing.T, url string) string {
	t.Helper()
	response, err := c.client.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(body)
}
