// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
)

// maxWireBytes limits the bytes of a page and its scripts. A page loads nothing else.
const maxWireBytes = 500_000

// Pages of the examples are small, so that they load fast on slow networks.
func TestPagesAreSmallOnTheWire(t *testing.T) {
	s := newServing(t, nil)
	scripts := 0
	for _, script := range []string{"/static/timeline.js", "/static/flamegraph.js"} {
		_, body := s.get(t, script, "Accept-Encoding", "gzip")
		scripts += len(body)
	}
	types := map[string]string{"heap": "inuse_space", "cpu": "cpu"}
	for name := range types {
		s.post(t, deliverytest.OwnProfile(t, name+".pb.gz"), map[string]any{"service.name": name})
	}
	for name, profileType := range types {
		for _, page := range []string{"/view/" + name + "/" + profileType + "/flamegraph", "/view/" + name + "/" + profileType + "/both", "/view/" + name + "/" + profileType + "/top", "/view/" + name + "/" + profileType + "/peek", "/"} {
			response, body := s.get(t, page, "Accept-Encoding", "gzip")
			require.Equal(t, http.StatusOK, response.StatusCode)
			require.Equal(t, "gzip", response.Header.Get("Content-Encoding"))
			_, plain := s.get(t, page, "Accept-Encoding", "identity")
			t.Logf("%s: %d bytes, %d without compression", page, len(body), len(plain))
			assert.Less(t, len(body)+scripts, maxWireBytes, page)
		}
	}
	t.Logf("scripts: %d bytes", scripts)
}
