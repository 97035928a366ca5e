// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	return string(text)
}

// Every YAML block is a configuration that the exporter takes.
func TestReadmeSnippets(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(readme(t), -1)
	require.Len(t, blocks, 4)
	for i, block := range blocks {
		retrieved, err := confmap.NewRetrievedFromYAML([]byte(block[1]))
		require.NoError(t, err)
		conf, err := retrieved.AsConf()
		require.NoError(t, err)
		exporters, err := conf.Sub("exporters")
		require.NoError(t, err)
		for name := range exporters.ToStringMap() {
			_, err = configOf(t, conf, "exporters::"+name)
			require.NoError(t, err, "block %d, %s", i, name)
		}
	}
}

// Every option is there, with its default.
func TestReadmeNamesEveryOption(t *testing.T) {
	text := readme(t)
	for _, section := range []any{
		*createDefaultConfig().(*Config), newDefaultFileConfig(),
		LinkLabelsConfig{},
		newDefaultHTTPConfig(), newDefaultServerConfig(),
		LabelsConfig{Max: 25},
		TenantConfig{Header: "X-Scope-OrgID"},
	} {
		value := reflect.ValueOf(section)
		for i := range value.NumField() {
			key, _, _ := strings.Cut(value.Type().Field(i).Tag.Get(confmap.MapstructureTag), ",")
			if key == "" || !value.Type().Field(i).IsExported() {
				continue
			}
			assert.Contains(t, text, "`"+key+"`")
			if duration, isDuration := reflect.TypeAssert[time.Duration](value.Field(i)); isDuration && duration != 0 {
				short := strings.TrimSuffix(strings.TrimSuffix(duration.String(), "0m0s"), "m0s")
				assert.Contains(t, text, fmt.Sprintf("`%s` (default = %s)", key, short))
				continue
			}
			switch field := value.Field(i); field.Kind() {
			case reflect.Int, reflect.Int64:
				assert.Contains(t, text, fmt.Sprintf("`%s` (default = %d", key, field.Int()))
			case reflect.Bool:
				assert.Contains(t, text, fmt.Sprintf("`%s` (default = %t)", key, field.Bool()))
			case reflect.String:
				if field.String() != "" {
					assert.Regexp(t, fmt.Sprintf("`%s` \\(default = `\"?%s", key, regexp.QuoteMeta(field.String())), text)
				}
			}
		}
	}
}

// The reasons of the metrics are in the table of errors, and the example of a cleaned name is a real one.
func TestReadmeTells(t *testing.T) {
	text := readme(t)
	for metric, reasons := range map[string][]string{
		"write_failures":   {failedFull, failedDenied, failedOther},
		"profiles_refused": {refusedInvalid, refusedBlocked, refusedRejected, refusedTooLarge},
	} {
		for _, reason := range reasons {
			assert.Contains(t, text, fmt.Sprintf("| `%s`, `%s` |", metric, reason))
		}
	}
	f := newFixture(t, nil)
	require.NoError(t, f.ConsumeProfiles(t.Context(), cpu(t, "a/b")))
	for service := range f.services(t) {
		assert.Contains(t, text, "`a/b` becomes `"+service+"`")
	}
}
