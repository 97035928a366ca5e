// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"

	"github.com/otelpprof/otelpprof/connector/splunklogprofileconnector"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter"
	"github.com/otelpprof/otelpprof/extension/kubernetesaccessextension"
	"github.com/otelpprof/otelpprof/extension/memorybudgetextension"
	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/processor/profilededuplicator"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver"
	"github.com/otelpprof/otelpprof/receiver/splunklogprofilereceiver"
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

// TestSizes writes each size of each component with a unit, and as a number.
func TestSizes(t *testing.T) {
	sizes := map[string]int{}
	for directory, factory := range factories {
		for _, path := range sizesOf(reflect.TypeOf(factory.CreateDefaultConfig()).Elem(), "") {
			sizes[directory]++
			withUnit, number := factory.CreateDefaultConfig(), factory.CreateDefaultConfig()
			decode(t, path, "3MiB", &withUnit)
			decode(t, path, 3<<20, &number)
			assert.Equal(t, number, withUnit, "%s: %s", directory, path)
			assert.NotEqual(t, factory.CreateDefaultConfig(), number, "%s: %s", directory, path)
			conf := confmap.New()
			require.NoError(t, conf.Marshal(withUnit))
			assert.EqualValues(t, 3<<20, conf.Get(path), "it is written as a number")
		}
	}
	assert.Equal(t, map[string]int{
		"connector/splunklogprofileconnector": 2, "exporter/pprofexporter": 4, "exporter/profileviewexporter": 5, "processor/profilededuplicator": 2,
		"processor/profilesymbolizer": 5, "receiver/pprofreceiver": 4, "receiver/splunklogprofilereceiver": 3,
	}, sizes)
}

func decode(t *testing.T, path string, value any, cfg *component.Config) {
	t.Helper()
	conf := confmap.New()
	require.NoError(t, conf.Merge(confmap.NewFromStringMap(map[string]any{path: value})))
	require.NoError(t, conf.Unmarshal(cfg), path)
}

// sizesOf returns the paths of the options that are sizes.
func sizesOf(section reflect.Type, prefix string) []string {
	var paths []string
	for key, field := range configcheck.Fields(section) {
		if inner, _ := configcheck.Section(field.Type); inner != nil {
			paths = append(paths, sizesOf(inner, prefix+key+confmap.KeyDelimiter)...)
		} else if configcheck.IsSize(field) {
			paths = append(paths, prefix+key)
		}
	}
	return paths
}

// factories are those of all components, by the directory of each.
var factories = map[string]component.Factory{
	"connector/splunklogprofileconnector": splunklogprofileconnector.NewFactory(),
	"exporter/pprofexporter":              pprofexporter.NewFactory(),
	"exporter/profileviewexporter":        profileviewexporter.NewFactory(),
	"extension/kubernetesaccessextension": kubernetesaccessextension.NewFactory(),
	"extension/memorybudgetextension":     memorybudgetextension.NewFactory(),
	"processor/profilededuplicator":       profilededuplicator.NewFactory(),
	"processor/profilesymbolizer":         profilesymbolizer.NewFactory(),
	"receiver/pprofreceiver":              pprofreceiver.NewFactory(),
	"receiver/splunklogprofilereceiver":   splunklogprofilereceiver.NewFactory(),
}
