// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

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
