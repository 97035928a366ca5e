// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestVersions compares the table of clients in the receiver's README with what the tests run.
func TestVersions(t *testing.T) {
	versions := map[string]string{}
	modules, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	for _, module := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(string(modules), -1) {
		versions[module[1]] = module[2]
	}
	text, err := os.ReadFile("node/package.json")
	require.NoError(t, err)
	var manifest struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	require.NoError(t, json.Unmarshal(text, &manifest))
	maps.Copy(versions, manifest.Dependencies)
	readme, err := os.ReadFile("../../receiver/pprofreceiver/README.md")
	require.NoError(t, err)
	for _, client := range []string{
		"github.com/grafana/pyroscope-go", "github.com/grafana/pyroscope/api", "github.com/DataDog/dd-trace-go/v2", "google.golang.org/grpc",
		"@pyroscope/nodejs", "@datadog/pprof",
	} {
		require.NotEmpty(t, versions[client], client)
		row := regexp.MustCompile(`(?m)^\|[^|]*` + regexp.QuoteMeta("`"+client+"`") + `[^|]*\| ` + regexp.QuoteMeta(versions[client]) + ` \|`)
		assert.True(t, row.Match(readme), "the README has no row of %s %s", client, versions[client])
	}
}
