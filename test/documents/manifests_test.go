// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// TestManifests: the smaller distribution has each component in the version of the one with all components, and no others.
func TestManifests(t *testing.T) {
	small, full := parts(t, "builder-config.yaml"), parts(t, "builder-config.full.yaml")
	assert.Subset(t, full, small)
	var more []string
	for part := range full {
		if _, inBoth := small[part]; !inBoth {
			more = append(more, path.Base(part))
		}
	}
	assert.ElementsMatch(t, []string{
		"kafkareceiver", "kafkaexporter",
		"transformprocessor", "filterprocessor", "countconnector",
		"k8sattributesprocessor", "kubernetesaccessextension", "targetdiscoveryextension",
	}, more, "what docs/distribution.md and the header of builder-config.yaml say")
}

// parts returns the versions of the components and providers of a manifest.
func parts(t *testing.T, name string) map[string]string {
	t.Helper()
	var manifest map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(read(t, filepath.Join(root, name))), &manifest))
	versions := map[string]string{}
	for section, list := range manifest {
		parts, isList := list.([]any)
		if !isList || section == "replaces" {
			continue
		}
		for _, part := range parts {
			part := part.(map[string]any)
			module, version, found := strings.Cut(part["gomod"].(string), " ")
			require.True(t, found, part)
			if imported, ok := part["import"].(string); ok {
				module = imported
			}
			versions[module] = version
		}
	}
	return versions
}
