// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofilereceiver

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
)

// TestMetadataFromResource holds that profiles of log records, and those that come as OTLP, are parted by service.
func TestMetadataFromResource(t *testing.T) {
	var profiles consumertest.ProfilesSink
	r := run(t, pipelines{profiles: &profiles}, map[string]any{"metadata_from_resource": []any{"service.name"}})
	first, second := pythonLogs(t), pythonLogs(t)
	first.ResourceLogs().At(0).Resource().Attributes().PutStr("service.name", "first")
	second.ResourceLogs().At(0).Resource().Attributes().PutStr("service.name", "second")
	status, text := r.postLogs(t, mixed(first, second))
	require.Equal(t, 200, status, text)
	require.Len(t, profiles.AllProfiles(), 2)

	sent := profiles.AllProfiles()[1]
	_, err := pprofileotlp.NewGRPCClient(r.dial(t)).Export(t.Context(), pprofileotlp.NewExportRequestFromProfiles(sent))
	require.NoError(t, err)
	var services []string
	for _, ctx := range profiles.Contexts() {
		services = append(services, client.FromContext(ctx).Metadata.Get("service.name")...)
	}
	assert.Equal(t, []string{"first", "second", "second"}, services)
}
