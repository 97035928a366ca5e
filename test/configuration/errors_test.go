// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write the golden files anew")

// wrong is a configuration that must be refused.
type wrong struct {
	Name      string         `yaml:"name"`
	Component string         `yaml:"component"`
	Config    map[string]any `yaml:"config"`
}

// TestErrors compares what a user is told about each configuration of wrong.yaml with wrong.golden.
func TestErrors(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("testdata", "wrong.yaml"))
	require.NoError(t, err)
	var cases []wrong
	require.NoError(t, yaml.Unmarshal(content, &cases))
	require.GreaterOrEqual(t, len(cases), 40)
	var told strings.Builder
	for _, c := range cases {
		err := refusal(t, c)
		require.Error(t, err, c.Name)
		text := err.Error()
		if _, own, found := strings.Cut(text, "following error(s):\n\n'' "); found {
			text = own // The rest is confmap's, and the same for all.
		}
		fmt.Fprintf(&told, "%s\n    %s\n", c.Name, strings.ReplaceAll(text, "\n", "\n    "))
	}
	golden(t, filepath.Join("testdata", "wrong.golden"), told.String())
}

// refusal reads and validates a configuration as the Collector does.
func refusal(t *testing.T, c wrong) error {
	t.Helper()
	factory := factories[c.Component]
	require.NotNil(t, factory, "%s: %s", c.Name, c.Component)
	cfg := factory.CreateDefaultConfig()
	if err := confmap.NewFromStringMap(c.Config).Unmarshal(&cfg); err != nil {
		return err
	}
	return confmap.Validate(cfg)
}

// golden compares text with a file.
func golden(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), text, "run the test with -update if this is meant")
}
