// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/configcheck"
)

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
		"processor/profilesymbolizer": 3, "receiver/pprofreceiver": 4, "receiver/splunklogprofilereceiver": 3,
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
