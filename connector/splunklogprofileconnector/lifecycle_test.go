// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofileconnector

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer/consumertest"

	"github.com/otelpprof/otelpprof/connector/splunklogprofileconnector/internal/metadata"
)

// TestLifecycle: each half can be started and shut down, also shut down without a start, and can be created again.
func TestLifecycle(t *testing.T) {
	set := connectortest.NewNopSettings(metadata.Type)
	for to, create := range map[string]func() (component.Component, error){
		"profiles": func() (component.Component, error) {
			return NewFactory().CreateLogsToProfiles(t.Context(), set, createDefaultConfig(), consumertest.NewNop())
		},
		"logs": func() (component.Component, error) {
			return NewFactory().CreateLogsToLogs(t.Context(), set, createDefaultConfig(), consumertest.NewNop())
		},
	} {
		t.Run(to, func(t *testing.T) {
			part, err := create()
			require.NoError(t, err)
			require.NoError(t, part.Shutdown(t.Context()))
			for range 2 {
				part, err = create()
				require.NoError(t, err)
				require.NoError(t, part.Start(t.Context(), componenttest.NewNopHost()))
				assert.NoError(t, part.Shutdown(t.Context()))
			}
		})
	}
}

// TestNoOtherPairs: the connector only connects logs to profiles, and logs to logs.
func TestNoOtherPairs(t *testing.T) {
	set := connectortest.NewNopSettings(metadata.Type)
	_, err := NewFactory().CreateTracesToTraces(t.Context(), set, createDefaultConfig(), consumertest.NewNop())
	require.Error(t, err)
	_, err = NewFactory().CreateLogsToMetrics(t.Context(), set, createDefaultConfig(), consumertest.NewNop())
	require.Error(t, err)
}
