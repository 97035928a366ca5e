// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v2"
)

// TestReadmeKubernetes: each example for Kubernetes finds a container that runs, and none that does not run or ends soon.
func TestReadmeKubernetes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	examples := 0
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(block[1], "kubernetes_sd_configs") {
			continue
		}
		examples++
		values := strings.NewReplacer("${env:SCRAPE_SHARD:-0}", "0|1|2", "${env:K8S_NODE_NAME}", "node-1", "$$", "$").Replace(block[1])
		var whole struct{ Extensions map[string]map[string]any }
		require.NoError(t, yaml.Unmarshal([]byte(values), &whole))
		section, err := yaml.Marshal(whole.Extensions["target_discovery"])
		require.NoError(t, err)
		running := pod("10.0.0.1:6060", "http", "profiles.grafana.com/cpu.scrape", "true")
		targets, _ := applied(t, string(section), nil, running)
		assert.Len(t, targets, 1, block[1])
		for label, values := range map[model.LabelName][]model.LabelValue{
			"__meta_kubernetes_pod_phase":          {"Pending", "Succeeded", "Failed"},
			"__meta_kubernetes_pod_container_init": {"true"},
		} {
			for _, value := range values {
				other := maps.Clone(running)
				other[label] = value
				targets, _ = applied(t, string(section), nil, other)
				assert.Empty(t, targets, "%s=%s: %s", label, value, block[1])
			}
		}
	}
	assert.Equal(t, 2, examples)
}
