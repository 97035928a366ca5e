// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// eachExporter calls f with each exporter otlp_grpc in the configurations and manifests, and the name of its file.
func eachExporter(t *testing.T, f func(file string, exporter map[string]any)) {
	t.Helper()
	files := 0
	shipped := os.DirFS(root)
	for _, directory := range []string{"config", "deploy", "packaging"} {
		require.NoError(t, fs.WalkDir(shipped, directory, func(name string, entry fs.DirEntry, err error) error {
			require.NoError(t, err)
			if path.Ext(name) != ".yaml" || strings.Contains(name, "/templates/") {
				return nil
			}
			decoder := yaml.NewDecoder(bytes.NewReader([]byte(read(t, name))))
			for {
				var document any
				err := decoder.Decode(&document)
				if errors.Is(err, io.EOF) {
					return nil
				}
				require.NoError(t, err, name)
				for _, exporter := range exportersIn(document) {
					files++
					f(name, exporter)
				}
			}
		}))
	}
	require.Greater(t, files, 6)
}

// exportersIn returns each map otlp_grpc below a key exporters.
func exportersIn(value any) (found []map[string]any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			found = append(found, exportersIn(element)...)
		}
	case map[string]any:
		if exporters, ok := value["exporters"].(map[string]any); ok {
			if exporter, ok := exporters["otlp_grpc"].(map[string]any); ok {
				found = append(found, exporter)
			}
		}
		for _, below := range value {
			found = append(found, exportersIn(below)...)
		}
	}
	return found
}

// A receiver over gRPC without zstd rejects each message permanently. All have gzip, the default. Agents send to a Collector.
func TestCompressionThatEachBackendHas(t *testing.T) {
	agents := []string{"config/agent.yaml", "deploy/helm/otelcol-pprof/files/agent.yaml"}
	eachExporter(t, func(file string, exporter map[string]any) {
		if compression, set := exporter["compression"]; set {
			assert.Contains(t, agents, file, "%s has compression: %v", file, compression)
		}
	})
}

// The Collector's exporter waits as long as a backend asks, and logs each answer as a whole.
func TestAnswersAreLimited(t *testing.T) {
	eachExporter(t, func(file string, exporter map[string]any) {
		if _, whole := exporter["endpoint"]; !whole {
			return // it is merged over another configuration
		}
		assert.Equal(t, []any{map[string]any{"id": "memory_budget"}}, exporter["middlewares"], file)
	})
}
