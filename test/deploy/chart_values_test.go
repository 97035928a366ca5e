// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
)

// chartCase has values of the chart, and a part of the objects with them, or of the error.
type chartCase struct{ Values, Want string }

// TestChartValues: Helm's linter and the client take each value, and it changes the objects. Every value is given once.
func TestChartValues(t *testing.T) {
	plain := strings.Join(renderChart(t, charts["gateway"]), "\n---\n")
	unused := leaves(t)
	for _, tt := range cases[chartCase](t, "values.yaml") {
		t.Run(tt.Values, func(t *testing.T) {
			assert.Contains(t, strings.Join(renderChart(t, tt.Values), "\n---\n"), tt.Want)
			assert.NotContains(t, plain, tt.Want, "the objects always have this")
			decodeChart(t, tt.Values)
			assertLint(t, tt.Values)
		})
		var given map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(tt.Values), &given))
		for path := range unused {
			if _, found := at(given, path); found {
				delete(unused, path)
			}
		}
	}
	assert.Empty(t, unused, "no test sets these values")
}

// assertLint runs `helm lint`. Its only complaint is that the chart has no icon.
func assertLint(t *testing.T, values string) {
	t.Helper()
	given, err := chartutil.ReadValues([]byte(values))
	require.NoError(t, err)
	for _, message := range lint.All(filepath.Join(root, chartDirectory), given, releaseNamespace, true).Messages {
		assert.Less(t, message.Severity, support.WarningSev, message.Error())
	}
}

// TestChartLint lints the chart without values.
func TestChartLint(t *testing.T) { assertLint(t, "{}") }

// TestChartRefuses: a wrong value is an error that names it.
func TestChartRefuses(t *testing.T) {
	for _, tt := range cases[chartCase](t, "refused_values.yaml") {
		t.Run(tt.Values, func(t *testing.T) {
			_, err := renderFiles(t, tt.Values)
			require.Error(t, err)
			assert.Contains(t, strings.ReplaceAll(err.Error(), "'", ""), tt.Want)
		})
	}
	_, err := renderFiles(t, "{"+backend+", global: {}}")
	assert.NoError(t, err, "another chart has it as a dependency")
}

// leaves returns the values of values.yaml that have no schema of parts of their own, by their paths.
func leaves(t *testing.T) map[string]any {
	t.Helper()
	var values, schema map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(read(t, chartDirectory, "values.yaml")), &values))
	require.NoError(t, json.Unmarshal([]byte(read(t, chartDirectory, "values.schema.json")), &schema))
	found := map[string]any{}
	var collect func(path string, part map[string]any)
	collect = func(path string, part map[string]any) {
		if reference, is := part["$ref"].(string); is && strings.HasSuffix(reference, "/labelled") {
			part = schema["definitions"].(map[string]any)["labelled"].(map[string]any)
		}
		parts, branches := part["properties"].(map[string]any)
		if !branches {
			value, exists := at(values, path)
			assert.True(t, exists, "%s has no default", path)
			found[path] = value
			return
		}
		assert.Equal(t, false, part["additionalProperties"], path)
		for name, below := range parts {
			if name != "global" {
				collect(strings.TrimPrefix(path+"."+name, "."), below.(map[string]any))
			}
		}
	}
	collect("", schema)
	return found
}

// at returns the value at a path.
func at(values map[string]any, path string) (value any, found bool) {
	value = values
	for name := range strings.SplitSeq(path, ".") {
		below, isMap := value.(map[string]any)
		if !isMap {
			return nil, false
		}
		if value, found = below[name]; !found {
			return nil, false
		}
	}
	return value, true
}

// TestChartReadme: values.yaml, the schema and the README have the same values, with the same defaults.
func TestChartReadme(t *testing.T) {
	documented := map[string]any{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\| .+ \\|$").FindAllStringSubmatch(read(t, chartDirectory, "README.md"), -1) {
		var value any
		require.NoError(t, yaml.Unmarshal([]byte(row[2]), &value))
		assert.NotContains(t, documented, row[1])
		documented[row[1]] = value
	}
	assert.Equal(t, leaves(t), documented)
}
