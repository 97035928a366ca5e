// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filtering

import (
	"context"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.yaml.in/yaml/v3"

	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/otlpsink"
)

// TestStatements: the distribution refuses the statements that the page marks with no, and runs all others. If a new version supports
// one more, the page must change.
func TestStatements(t *testing.T) {
	t.Parallel()
	_, below, found := strings.Cut(readPage(t), "<!-- TestStatements")
	require.True(t, found)
	table, _, found := strings.Cut(below, "<!-- end of these -->")
	require.True(t, found)
	rows := regexp.MustCompile("(?m)^\\| `(.*)` \\| (yes|no) \\|$").FindAllStringSubmatch(table, -1)
	require.Len(t, rows, strings.Count(table, "\n| ")-1, "all but the head")
	var known []string
	for _, row := range rows {
		if row[2] == "yes" {
			known = append(known, row[1])
			continue
		}
		output, err := exec.CommandContext(t.Context(), gatewaytest.Binary(t), "validate", "--feature-gates=service.profilesSupport",
			"--config", transform(t, row[1])).CombinedOutput()
		assert.Error(t, err, row[1])
		assert.Contains(t, string(output), "unable to", row[1])
	}
	runStatements(t, known)
}

// runStatements uploads a profile, and checks the effect of some of the statements.
func runStatements(t *testing.T, statements []string) {
	t.Helper()
	var mu sync.Mutex
	var got []pprofile.Profiles
	sink, err := otlpsink.Start(t.Context(), "127.0.0.1:0", func(_ context.Context, pd pprofile.Profiles) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, pd)
		return nil
	})
	require.NoError(t, err)
	t.Cleanup(sink.Stop)
	g := start(t, "", transform(t, statements...), "yaml:exporters: {otlp_grpc: {endpoint: '"+sink.Address()+"', tls: {insecure: true}}}",
		"yaml:service::pipelines::profiles::exporters: [otlp_grpc]")
	require.Equal(t, http.StatusNoContent, g.upload(t, "cpu.pb.gz", "service.name=checkout&resource.host.ip=192.0.2.1"))
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(got) == 1
	}, within, pollEvery)
	resource := got[0].ResourceProfiles().At(0)
	attributes := resource.Resource().Attributes().AsRaw()
	assert.Equal(t, "a", attributes["team"])
	assert.NotContains(t, attributes, "host.ip")
	assert.Equal(t, "renamed", resource.ScopeProfiles().At(0).Scope().Name())
	for _, p := range resource.ScopeProfiles().At(0).Profiles().All() {
		of, err := pprofile.FromAttributeIndices(got[0].Dictionary().AttributeTable(), p, got[0].Dictionary())
		require.NoError(t, err)
		assert.Equal(t, "eu", of.AsRaw()["region"])
		assert.Equal(t, "pprof", p.OriginalPayloadFormat())
	}
}

// transform returns a configuration with these statements. An error in one of them makes the upload fail.
func transform(t *testing.T, statements ...string) string {
	t.Helper()
	config, err := yaml.Marshal(map[string]any{
		"receivers":  map[string]any{"pprof": map[string]any{"server": map[string]any{"endpoint": "127.0.0.1:0"}}},
		"processors": map[string]any{"transform": map[string]any{"error_mode": "propagate", "profile_statements": statements}},
		"exporters":  map[string]any{"debug": nil},
		"service": map[string]any{"pipelines": map[string]any{"profiles": map[string]any{
			"receivers": []string{"pprof"}, "processors": []string{"transform"}, "exporters": []string{"debug"},
		}}},
	})
	require.NoError(t, err)
	return "yaml:" + string(config)
}
