// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package configtest reads the configurations of a component as the Collector does, and compares its README with them.
package configtest // import "github.com/otelpprof/otelpprof/internal/testkit/configtest"

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.yaml.in/yaml/v3"

	"github.com/otelpprof/otelpprof/internal/configcheck"
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

// Readme returns the README of the component whose test runs.
func Readme(tb testing.TB) string {
	tb.Helper()
	text := must.Get(os.ReadFile("README.md"))(tb)
	return string(text)
}

// CheckSnippets calls check with each exporter configuration in the YAML blocks of the README. It returns the number of blocks.
func CheckSnippets(t *testing.T, check func(conf *confmap.Conf, exporter string) error) int {
	t.Helper()
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(Readme(t), -1)
	for i, block := range blocks {
		retrieved := must.Get(confmap.NewRetrievedFromYAML([]byte(block[1])))(t)
		conf := must.Get(retrieved.AsConf())(t)
		exporters := must.Get(conf.Sub("exporters"))(t)
		for name := range exporters.ToStringMap() {
			assert.NoError(t, check(conf, "exporters::"+name), "block %d, %s", i, name)
		}
	}
	return len(blocks)
}

// CheckOptions checks that each option of a section is in a table of the README, with its default. It includes the options
// of our squashed structs, but not of those of the Collector.
func CheckOptions(t *testing.T, section any, path string) {
	t.Helper()
	text := Readme(t)
	value := reflect.ValueOf(section)
	for i := range value.NumField() {
		field := value.Type().Field(i)
		key, _, _ := strings.Cut(field.Tag.Get(confmap.MapstructureTag), ",")
		if key == "" || !field.IsExported() {
			continue
		}
		row := fmt.Sprintf("(?m)^\\| (`\\w+`, )*`%[1]s`(, `\\w+`)* \\| %[2]s|^### `%[1]s`", path+key, defaultText(field, value.Field(i)))
		assert.True(t, regexp.MustCompile(row).MatchString(text), "the README has nothing like %s", row)
	}
}

// defaultText returns a regular expression for the start of the default in its column.
func defaultText(field reflect.StructField, value reflect.Value) string {
	if configcheck.IsSize(field) && value.Int() >= 1<<20 && value.Int()%(1<<20) == 0 {
		return strconv.FormatInt(value.Int()>>20, 10) + "MiB \\|"
	}
	if duration, isDuration := reflect.TypeAssert[time.Duration](value); isDuration && duration != 0 {
		return strings.TrimSuffix(strings.TrimSuffix(duration.String(), "0m0s"), "m0s") + " \\|"
	}
	switch value.Kind() {
	case reflect.Int, reflect.Int64:
		return strconv.FormatInt(value.Int(), 10) + " \\|"
	case reflect.Bool:
		return strconv.FormatBool(value.Bool()) + " \\|"
	case reflect.String:
		if value.String() != "" {
			return "`\"?" + regexp.QuoteMeta(value.String()) + "\"?` \\|"
		}
	}
	return ""
}
