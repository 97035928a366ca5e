// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDetailedMetrics: at the level detailed, the Collector's metrics of HTTP have the Host header of each request, which clients
// choose. The view in docs/telemetry.md drops it.
func TestDetailedMetrics(t *testing.T) {
	g := start(t, `yaml:
service:
  telemetry:
    metrics:
      level: detailed
      views:
        - selector: {instrument_name: "http.server.*"}
          stream: {attribute_keys: {excluded: [server.address, server.port]}}
`)
	for i := range 3 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+g.intake+"/", http.NoBody)
		require.NoError(t, err)
		request.Host = "invented-" + strconv.Itoa(i)
		response, err := g.client.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
	}
	text := g.get(t, "http://"+g.metrics+"/metrics")
	assert.Contains(t, text, "http_server_request_duration")
	assert.Zero(t, strings.Count(text, "invented-"))
}
