// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/test/e2e/load"
)

const (
	// longPatience is how long what was accepted may take to arrive.
	longPatience = 2 * time.Minute
	pollEvery    = 100 * time.Millisecond
	// shortDurability is the number of uploads where OTELPPROF_DURABILITY_UPLOADS does not name another.
	shortDurability = 200
)

// pooling is the gate of the Collector that frees a message when nobody has a reference to it.
const pooling = "pdata.useProtoPooling"

// deduplicatorOf returns the deduplicator of a shipped configuration, as configuration on top of another.
func deduplicatorOf(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var shipped struct {
		Processors struct {
			Deduplicator map[string]any `yaml:"profile_deduplicator"`
		} `yaml:"processors"`
	}
	require.NoError(t, yaml.Unmarshal(content, &shipped))
	require.NotEmpty(t, shipped.Processors.Deduplicator)
	section, err := json.Marshal(shipped.Processors.Deduplicator)
	require.NoError(t, err)
	return "yaml:processors::profile_deduplicator: " + string(section)
}

// TestDurability kills the gateway (kill -9) at random moments while uploads come, and starts it again. What it has
// accepted arrives: at least once, and exactly once behind a gateway that drops what was repeated. `make durability` runs it with
// 10,000 uploads, of small profiles.
func TestDurability(t *testing.T) {
	t.Parallel()
	n, readUploads := shortDurability, load.NewUploads
	if text := os.Getenv("OTELPPROF_DURABILITY_UPLOADS"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		require.NoError(t, err, "OTELPPROF_DURABILITY_UPLOADS")
		readUploads = load.NewSmallUploads
	}
	// The Helm chart, the operator and the overlays have the section of the manifests.
	require.Equal(t, deduplicatorOf(t, "../../config/gateway.yaml"), deduplicatorOf(t, "../../deploy/kubernetes/base/config.yaml"))
	for name, test := range map[string]struct{ more, gates []string }{
		"at least once":               {},
		"at least once, with pooling": {gates: []string{pooling}},
		"in batches":                  {more: []string{deduplicatorOf(t, "../../config/gateway.yaml")}},
		"in batches, with pooling":    {more: []string{deduplicatorOf(t, "../../config/gateway.yaml")}, gates: []string{pooling}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLoadedWith(t, &loaded{queue: queueIn(t), memoryMiB: 1000, gates: test.gates}, test.more...)
			l.read(t, readUploads)
			l.start(t)
			kills := l.sendAndKill(t, n)
			t.Logf("%d uploads, killed %d times: %v", n, kills, l.waitForAll(t))
		})
	}
	t.Run("once behind drop_repeated", func(t *testing.T) {
		t.Parallel()
		l := newLoaded(t, queueIn(t))
		l.read(t, readUploads)
		l.prepare(t, gatewaytest.RunOnce(t, l.destination.Address()))
		l.start(t)
		kills := l.sendAndKill(t, n)
		b := l.waitForAll(t)
		t.Logf("%d uploads, killed %d times: %v", n, kills, b)
		assert.Zero(t, b.Repeated)
	})
}

// sendAndKill kills the gateway about once in a hundred uploads.
func (l *loaded) sendAndKill(t *testing.T, n int) (kills int) {
	t.Helper()
	const seed = 1
	random := rand.New(rand.NewPCG(seed, seed))
	at := 20 + random.IntN(80)
	l.send(t, n, func(done int) {
		if done < at {
			return
		}
		at = done + 20 + random.IntN(160)
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
		l.running.Kill()
		kills++
		l.start(t)
	})
	require.Positive(t, kills)
	return kills
}

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

func header(length int) string {
	return fmt.Sprintf("POST /v1/pprof HTTP/1.1\r\nHost: gateway\r\nContent-Length: %d\r\n\r\n", length)
}

// dial opens a connection and sends the text as it stands. Nothing on it takes longer than patience.
func (g *tester) dial(t *testing.T, text string) net.Conn {
	t.Helper()
	var dialer net.Dialer
	connection, err := dialer.DialContext(t.Context(), "tcp", g.intake)
	require.NoError(t, err)
	t.Cleanup(func() { connection.Close() })
	require.NoError(t, connection.SetDeadline(time.Now().Add(patience)))
	_, err = io.Copy(connection, strings.NewReader(text))
	require.NoError(t, err)
	return connection
}

func readResponse(t *testing.T, connection net.Conn) *http.Response {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response
}
