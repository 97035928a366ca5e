// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package configtest reads the configurations of a component as the Collector does, and compares its README with them.
package configtest // import "github.com/otelpprof/otelpprof/internal/testkit/configtest"

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.yaml.in/yaml/v3"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// Load reads a section into a default configuration, and validates it.
func Load[C component.Config](cfg C, section *confmap.Conf) (C, error) {
	if err := section.Unmarshal(cfg); err != nil {
		return cfg, err
	}
	return cfg, confmap.Validate(cfg)
}

// Named reads an entry of testdata/config.yaml into a default configuration.
func Named[C component.Config](t *testing.T, cfg C, entry string) C {
	t.Helper()
	conf := must.Get(confmaptest.LoadConf(filepath.Join("testdata", "config.yaml")))(t)
	require.True(t, conf.IsSet(entry), entry)
	return must.Get(Load(cfg, must.Get(conf.Sub(entry))(t)))(t)
}

// CheckRefused reads each configuration of testdata/bad_config.yaml. None may load and validate, and the error has the text `want`.
func CheckRefused(t *testing.T, newDefault func() component.Config) {
	t.Helper()
	var refused []struct {
		Want   string
		Config map[string]any
	}
	require.NoError(t, yaml.Unmarshal(must.Get(os.ReadFile(filepath.Join("testdata", "bad_config.yaml")))(t), &refused))
	require.NotEmpty(t, refused)
	for _, one := range refused {
		require.NotEmpty(t, one.Want, one.Config)
		_, err := Load(newDefault(), confmap.NewFromStringMap(one.Config))
		assert.ErrorContains(t, err, one.Want, "%v", one.Config)
	}
}
