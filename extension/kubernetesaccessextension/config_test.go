// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetesaccessextension

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
)

func TestDefaultConfig(t *testing.T) {
	require.NoError(t, createDefaultConfig().(*Config).Validate())
}

// TestPermissionsReplace: a configured list takes the place of the default, however short it is.
func TestPermissionsReplace(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	require.NoError(t, confmap.NewFromStringMap(map[string]any{
		"permissions": []any{map[string]any{"resource": "nodes", "verbs": []any{"get"}}},
	}).Unmarshal(cfg))
	assert.Equal(t, []Permission{{Resource: "nodes", Verbs: []string{"get"}}}, cfg.Permissions)
}

func TestValidate(t *testing.T) {
	many := slices.Repeat([]any{"get"}, maxReviews+1)
	for says, settings := range map[string]map[string]any{
		"interval must be above 0, is 0s":  {"interval": 0},
		"timeout must be above 0, is 0s":   {"timeout": 0},
		"token_file is empty":              {"token_file": ""},
		"ca_file is empty":                 {"ca_file": ""},
		`endpoint is "http://a"`:           {"endpoint": "http://a"},
		"permissions is empty":             {"permissions": []any{}},
		"permissions[0]::resource":         {"permissions": []any{map[string]any{"verbs": []any{"get"}}}},
		"permissions[0]::verbs is empty":   {"permissions": []any{map[string]any{"resource": "pods"}}},
		"permissions has 101 verbs in all": {"permissions": []any{map[string]any{"resource": "pods", "verbs": many}}},
		"intervall is not an option":       {"intervall": "1m"},
	} {
		cfg := createDefaultConfig().(*Config)
		err := confmap.NewFromStringMap(settings).Unmarshal(cfg)
		if err == nil {
			err = cfg.Validate()
		}
		assert.ErrorContains(t, err, says)
	}
}
