// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v2"

	"github.com/otelpprof/otelpprof/internal/configcheck"
)

// TestConfigErrors: what Prometheus refuses is refused, with the place of the entry.
func TestConfigErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{}":                                      "nothing to discover",
		"http_sd_configs: [{}]":                   "http_sd_configs[0]: URL is missing",
		"http_sd_configs: [{url: 'ftp://a'}]":     "http_sd_configs[0]: URL scheme must be 'http' or 'https'",
		"http_sd_configs: [{urls: 'http://a'}]":   "field urls not found",
		"file_sd_configs: [{files: [targets]}]":   `file_sd_configs[0]: path name "targets" is not valid`,
		"dns_sd_configs: [{names: [a], type: A}]": "dns_sd_configs[0]: a port is required",
		"kubernetes_sd_configs: [{role: pods}]":   `kubernetes_sd_configs[0]: unknown Kubernetes SD role "pods"`,
		"kubernetes_sd_configs: [{role: pod, api_server: 'http://a', kubeconfig_file: b}]": "simultaneously",
		"relabel_configs: [{action: keep}, {action: hashmod, target_label: a}]":            "relabel_configs[1]: relabel configuration for hashmod requires non-zero modulus",
		"relabel_configs: [{regex: '('}]":                                                  "relabel_configs[0]: error parsing regexp",
		"relabel_configs: [{action: sort}]":                                                `unknown relabel action "sort"`,
		"max_targets: 0":                                                                   "max_targets must be above 0, is 0",
		"max_response_size: 0":                                                             "max_response_size must be above 0, is 0",
		"consul_sd_configs: []":                                                            "consul_sd_configs is not an option",
	} {
		var values map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(text), &values))
		cfg := createDefaultConfig().(*Config)
		err := confmap.NewFromStringMap(values).Unmarshal(cfg)
		if err == nil {
			err = cfg.Validate()
		}
		assert.ErrorContains(t, err, want, text)
	}
}

// TestShippedConfig: it is valid, with and without values for its variables.
func TestShippedConfig(t *testing.T) {
	t.Parallel()
	cfg := configOf(t, shipped(t))
	assert.Len(t, cfg.KubernetesSDConfigs, 1)
	assert.Equal(t, defaultMaxTargets, cfg.MaxTargets)
}

// TestSchema: config.schema.yaml has the options of the configuration, with their defaults.
func TestSchema(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("config.schema.yaml")
	require.NoError(t, err)
	var schema struct {
		Properties map[string]struct {
			Description string
			Default     any
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &schema))
	defaults := reflect.ValueOf(createDefaultConfig()).Elem()
	fields := configcheck.Fields(defaults.Type())
	assert.Len(t, schema.Properties, len(fields))
	for name, field := range fields {
		option := schema.Properties[name]
		assert.NotEmpty(t, option.Description, name)
		if value := defaults.FieldByIndex(field.Index); !value.IsZero() {
			assert.EqualValues(t, value.Interface(), option.Default, name)
		}
	}
}
