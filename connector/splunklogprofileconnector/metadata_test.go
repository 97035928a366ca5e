// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofileconnector

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
)

func TestMetadataFromResource(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	cfg.MetadataFromResource = []string{"service.name"}
	r := run(t, cfg)
	logs := capture(t, python)
	logs.ResourceLogs().At(0).Resource().Attributes().PutStr("service.name", "checkout")
	r.send(t, logs)
	require.Len(t, r.profiles.Contexts(), 1)
	assert.Equal(t, []string{"checkout"}, client.FromContext(r.profiles.Contexts()[0]).Metadata.Get("service.name"))
}
