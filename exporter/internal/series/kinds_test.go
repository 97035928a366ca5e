// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestKinds: the kind of a profile is the same whatever client sent it. Types that no client uses for such a profile stay.
func TestKinds(t *testing.T) {
	for kind, types := range map[string]string{
		"cpu":              "cpu process_cpu itimer samples cpu-time cpu-clock",
		"heap":             "heap memory inuse_space alloc_space space live heap-live-size",
		"mutex":            "mutex delay contentions mutex_count",
		"block":            "block block_duration",
		"goroutine":        "goroutine goroutines",
		"wall":             "wall wall-time",
		"allocs":           "allocs",
		"threadcreate":     "threadcreate",
		"off_cpu":          "off_cpu",
		"Heap":             "Heap",
		"inuse_space-more": "inuse_space-more",
		"":                 "",
	} {
		for _, profileType := range append(strings.Fields(types), kind) {
			assert.Equal(t, kind, Kind(profileType), profileType)
		}
	}
}

// TestKindsAgree: profiles with one kind have one name in Pyroscope too, of all types that clients send.
func TestKindsAgree(t *testing.T) {
	pyroscope := map[string]string{}
	for _, each := range profiletest.SampleTypes() {
		kind := Kind(each.Name)
		name := MetricName(each.Name, typesOf(t, each.Name+"/"+each.Unit))
		switch kind {
		case "cpu", "mutex", "block", "goroutine":
			if pyroscope[kind] == "" {
				pyroscope[kind] = name
			}
			assert.Equal(t, pyroscope[kind], name, each.Name)
		}
	}
	assert.Equal(t, map[string]string{"cpu": "process_cpu", "mutex": "mutex", "goroutine": "goroutines"}, pyroscope)
}

// TestKindsDocumented: the README of the exporter pprof has the table.
func TestKindsDocumented(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "pprofexporter", "README.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(readme), "\n### Kinds\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n### ")
	var documented, rows []string
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "| `") {
			documented = append(documented, strings.TrimSpace(line))
		}
	}
	for _, k := range kinds {
		rows = append(rows, "| `"+k.kind+"` | `"+strings.Join(k.names, "`, `")+"` |")
	}
	assert.Equal(t, rows, documented)
}
