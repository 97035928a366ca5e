// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
)

// TestMetadataFromResource holds that what the resource says comes to the next consumer as metadata, beside the tenant.
func TestMetadataFromResource(t *testing.T) {
	r := run(t, func(c *Config, _ *ServerConfig) { c.MetadataFromResource = []string{"service.name"} })
	got := r.post(t, "/v1/pprof?service.name=checkout", plain(t, cpuProfile(1)), tenantHeader, "acme")
	require.Equal(t, 204, got.status, got.text)
	metadata := client.FromContext(r.sink.ctx[0]).Metadata
	assert.Equal(t, []string{"checkout"}, metadata.Get("service.name"))
	assert.Equal(t, []string{"acme"}, metadata.Get(tenantHeader))
}
