// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/memory"
)

func TestDefaultConfig(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	require.NoError(t, cfg.Validate())
	assert.Equal(t, memory.Part(memory.ProcessMemory(), 40), cfg.limit())
	cfg.LimitMiB = 100
	assert.Equal(t, int64(100<<20), cfg.limit())
}

func TestValidate(t *testing.T) {
	for says, settings := range map[string]map[string]any{
		"limit_mib must be 0 to 1073741824, is -1":  {"limit_mib": -1},
		"limit_percentage must be 1 to 100, is 0":   {"limit_percentage": 0},
		"limit_percentage must be 1 to 100, is 101": {"limit_percentage": 101},
		"wait must not be negative, is -1s":         {"wait": "-1s"},
		"max_inflated_mib must be 1 to 1023, is 0":  {"max_inflated_mib": 0},
		"receive_timeout must be above 0, is 0s":    {"receive_timeout": 0},
		`limitss is not an option`:                  {"limitss": 1},
	} {
		cfg := createDefaultConfig().(*Config)
		err := confmap.NewFromStringMap(settings).Unmarshal(cfg)
		if err == nil {
			err = cfg.Validate()
		}
		assert.ErrorContains(t, err, says)
	}
}
