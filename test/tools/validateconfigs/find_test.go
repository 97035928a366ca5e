// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const document = `# A component

` + "```yaml" + `
receivers:
  pprof:
` + "```" + `

A manifest is no configuration:

` + "```yaml" + `
receivers:
  - gomod: example.com/receiver v1.0.0
` + "```" + `
` + "```shell" + `
receivers: {}
` + "```" + `
` + "```yaml" + `
service: {telemetry: {}}
` + "```" + `
`

func TestFind(t *testing.T) {
	found, err := find(fstest.MapFS{
		"config/demo.yaml":              {Data: []byte("receivers: {a: {}}\nservice: {pipelines: {}}\n")},
		"config/kafka.yaml":             {Data: []byte("# _build/full/otelcol-pprof\nreceivers: {a: {}}\n")},
		"builder-config.yaml":           {Data: []byte("receivers: {not: one}\n")},
		"receiver/a/README.md":          {Data: []byte(document)},
		"receiver/a/testdata/README.md": {Data: []byte(document)},
		"_build/README.md":              {Data: []byte(document)},
		".tools/README.md":              {Data: []byte(document)},
	})
	require.NoError(t, err)
	assert.Equal(t, []configuration{
		{place: "config/demo.yaml:1", text: "receivers: {a: {}}\nservice: {pipelines: {}}\n", hasPipelines: true, distribution: both},
		{place: "config/kafka.yaml:1", text: "# _build/full/otelcol-pprof\nreceivers: {a: {}}\n", distribution: onlyWithAll},
		{place: "receiver/a/README.md:4", text: "receivers:\n  pprof:\n"},
		{place: "receiver/a/README.md:18", text: "service: {telemetry: {}}\n"},
	}, found)
}

func TestFindRefusesBrokenYAML(t *testing.T) {
	_, err := find(fstest.MapFS{"README.md": {Data: []byte("```yaml\na: [\n```\n")}})
	require.ErrorContains(t, err, "README.md:2")
}
