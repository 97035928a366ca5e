// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunkrecords

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/splunk"
)

func load(t *testing.T, values map[string]any) (Config, error) {
	t.Helper()
	cfg := NewDefaultConfig()
	if err := configcheck.Unmarshal(confmap.NewFromStringMap(values), &cfg); err != nil {
		return cfg, err
	}
	err := cfg.Check()
	return cfg, err
}

// TestDefaultsEqualTranslator: the default configuration gives the default options of the translator.
func TestDefaultsEqualTranslator(t *testing.T) {
	cfg, err := load(t, nil)
	require.NoError(t, err)
	limits := splunk.DefaultLimits()
	limits.FramesPerStack = 0 // the default of the translator
	assert.Equal(t, splunk.Options{Limits: limits, LinkLabels: splunk.DefaultLinkLabels()}, cfg.options())
}

func TestEveryOptionReachesTheTranslator(t *testing.T) {
	cfg, err := load(t, map[string]any{
		"limits":                   map[string]any{"body_bytes": 1, "inflated_bytes": 2, "samples": 3},
		"sample_shape":             "per_event",
		"link_labels":              []any{map[string]any{"trace": "t", "span": "s", "decimal": true}},
		"frame_type":               false,
		"jvm_thread_state":         true,
		"keep_empty_stacks":        false,
		"keep_generated_names":     true,
		"include_original_payload": true,
	})
	require.NoError(t, err)
	assert.Equal(t, splunk.Options{
		Limits:                 splunk.Limits{BodyBytes: 1, InflatedBytes: 2, Samples: 3},
		SampleShape:            splunk.PerEvent,
		LinkLabels:             []pprof.LinkLabels{{Trace: "t", Span: "s", Decimal: true}},
		OmitFrameType:          true,
		JVMThreadState:         true,
		DropEmptyStacks:        true,
		KeepGeneratedNames:     true,
		IncludeOriginalPayload: true,
	}, cfg.options())
}

func TestNoLinkLabels(t *testing.T) {
	cfg, err := load(t, map[string]any{"link_labels": []any{}})
	require.NoError(t, err)
	assert.NotNil(t, cfg.options().LinkLabels, "nil would be the default")
	assert.Empty(t, cfg.options().LinkLabels)
}

// TestDocumentedDefaults: the README of the receiver, to which that of the connector refers, has the right defaults.
func TestDocumentedDefaults(t *testing.T) {
	cfg := NewDefaultConfig()
	content, err := os.ReadFile("../../receiver/splunklogprofilereceiver/README.md")
	require.NoError(t, err)
	for option, value := range map[string]any{
		"sample_shape":             "`" + cfg.SampleShape + "`",
		"link_labels":              fmt.Sprintf("`%s` with `%s`", cfg.LinkLabels[0].Trace, cfg.LinkLabels[0].Span),
		"decimal":                  cfg.LinkLabels[0].Decimal,
		"frame_type":               cfg.FrameType,
		"jvm_thread_state":         cfg.JVMThreadState,
		"keep_empty_stacks":        cfg.KeepEmptyStacks,
		"keep_generated_names":     cfg.KeepGeneratedNames,
		"include_original_payload": cfg.IncludeOriginalPayload,
	} {
		assert.Contains(t, string(content), fmt.Sprintf("| `%s` | %v |", option, value))
	}
	for limit, value := range map[string]int{
		"body_bytes":     cfg.Limits.BodyBytes,
		"inflated_bytes": cfg.Limits.InflatedBytes,
		"samples":        cfg.Limits.Samples,
	} {
		assert.Contains(t, string(content), fmt.Sprintf("| `%s` | %d", limit, value))
	}
}
