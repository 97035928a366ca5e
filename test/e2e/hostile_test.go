// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestHostileSenders: whatever a sender does with its connection, the request is refused and counted, no file and no
// goroutine stays.
func TestHostileSenders(t *testing.T) {
	const each = 20
	g := start(t, "yaml:receivers::pprof::server::read_timeout: 2s", "yaml:receivers::pprof::server::read_header_timeout: 1s")
	upload := readProfile(t, "cpu")
	// The first upload starts what lives as long as the gateway.
	g.accept(t, "?service.name=before", upload)
	g.waitForFiles(t, 1)
	goroutines, openFiles := g.goroutines(t), g.process(t).Files

	t.Run("slow body", func(t *testing.T) {
		connections := make([]net.Conn, each)
		for i := range connections {
			connections[i] = g.dial(t, header(len(upload))+string(upload[:10]))
		}
		for _, connection := range connections {
			response := readResponse(t, connection)
			assert.Equal(t, http.StatusRequestTimeout, response.StatusCode)
			assertClosed(t, connection)
		}
		g.waitForMetric(t, each, "otelcol_receiver_pprof_refusals", `reason="too_slow"`)
	})
	t.Run("slow header", func(t *testing.T) {
		connection := g.dial(t, "POST /v1/pprof HTTP/1.1\r\nHost:")
		assertClosed(t, connection)
	})
	t.Run("aborted", func(t *testing.T) {
		for range each {
			connection := g.dial(t, header(len(upload))+string(upload[:len(upload)/2]))
			require.NoError(t, connection.(*net.TCPConn).SetLinger(0)) // Close sends a reset.
			require.NoError(t, connection.Close())
		}
		g.waitForMetric(t, each, "otelcol_receiver_pprof_refusals", `reason="aborted"`)
	})
	t.Run("length too large", func(t *testing.T) {
		for range each {
			connection := g.dial(t, header(len(upload)+1)+string(upload))
			require.NoError(t, connection.(*net.TCPConn).CloseWrite())
			assert.Equal(t, http.StatusBadRequest, readResponse(t, connection).StatusCode)
		}
		g.waitForMetric(t, 2*each, "otelcol_receiver_pprof_refusals", `reason="aborted"`)
	})
	t.Run("length too small", func(t *testing.T) {
		before := g.metric(t, "otelcol_receiver_pprof_refusals", `reason="malformed"`)
		for range each {
			connection := g.dial(t, header(len(upload)-1)+string(upload))
			assert.Equal(t, http.StatusBadRequest, readResponse(t, connection).StatusCode)
		}
		g.waitForMetric(t, before+each, "otelcol_receiver_pprof_refusals", `reason="malformed"`)
	})
	t.Run("broken chunk", func(t *testing.T) {
		refusals := g.metric(t, "otelcol_receiver_pprof_refusals")
		connection := g.dial(t, "POST /v1/pprof HTTP/1.1\r\nHost: gateway\r\nTransfer-Encoding: chunked\r\n\r\nnot a size\r\n")
		assert.Equal(t, http.StatusBadRequest, readResponse(t, connection).StatusCode)
		g.waitForMetric(t, refusals+1, "otelcol_receiver_pprof_refusals")
	})
	t.Run("garbage", func(t *testing.T) {
		refusals := g.metric(t, "otelcol_receiver_pprof_refusals")
		random := rand.NewChaCha8([32]byte{})
		for i := range each {
			body := make([]byte, 1+i*1000)
			_, err := random.Read(body)
			require.NoError(t, err)
			got := g.post(t, "", body)
			assert.Contains(t, []int{http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusRequestEntityTooLarge}, got.status, got.text)
		}
		g.waitForMetric(t, refusals+each, "otelcol_receiver_pprof_refusals")
	})

	g.waitForGoroutines(t, goroutines)
	g.waitForOpenFiles(t, openFiles)
	assert.Len(t, g.files(t), 1)
	g.accept(t, "?service.name=after", upload)
	g.waitForFiles(t, 2)
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

// assertClosed waits until the gateway closes the connection.
func assertClosed(t *testing.T, connection net.Conn) {
	t.Helper()
	_, err := io.Copy(io.Discard, connection)
	if timeout, isNetwork := err.(net.Error); isNetwork && timeout.Timeout() { //nolint:errorlint // io.Copy wraps nothing
		t.Errorf("the gateway keeps the connection: %v", err)
	}
}
