// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// typesOf reads "samples/count cpu/nanoseconds".
func typesOf(t *testing.T, text string) (types []pprof.SampleType) {
	t.Helper()
	for pair := range strings.FieldsSeq(text) {
		name, unit, found := strings.Cut(pair, "/")
		require.True(t, found, pair)
		types = append(types, pprof.SampleType{Name: name, Unit: unit})
	}
	return types
}

// The pairs of sample types that profilers send, and the name that Pyroscope's /ingest gives to each.
var named = []struct{ profileType, types, name string }{
	{"cpu", "samples/count cpu/nanoseconds", "process_cpu"},
	{"cpu", "cpu/nanoseconds", "process_cpu"},
	{"samples", "samples/count", "process_cpu"},
	{"time", "samples/count time/nanoseconds", "process_cpu"},
	{"cpu-time", "sample/count cpu-time/nanoseconds", "process_cpu"},
	{"wall", "samples/count wall/nanoseconds", "wall"},
	{"wall", "sample/count wall/nanoseconds cpu/nanoseconds", "wall"},
	{"inuse_space", "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes", "memory"},
	{"inuse_space", "inuse_objects/count inuse_space/bytes", "memory"},
	{"alloc_space", "alloc_objects/count alloc_space/bytes", "memory"},
	{"alloc_in_new_tlab_bytes", "alloc_in_new_tlab_objects/count alloc_in_new_tlab_bytes/bytes", "memory"},
	{"space", "objects/count space/bytes", "memory"},
	{"memory", "live/count", "memory"},
	{"goroutine", "goroutine/count", "goroutines"},
	{"goroutines", "goroutines/count", "goroutines"},
	{"mutex", "contentions/count delay/nanoseconds", "mutex"},
	{"mutex", "mutex_count/count mutex_duration/nanoseconds", "mutex"},
	{"delay", "contentions/count delay/nanoseconds", "mutex"},
	{"block", "contentions/count delay/nanoseconds", "block"},
	{"block", "block_count/count block_duration/nanoseconds", "block"},
	// .NET sends all measurements in one profile: the first type with a known name decides, not the last one.
	{"cpu", "cpu/nanoseconds exception/count lock_count/count lock_time/nanoseconds alloc_samples/count alloc_size/bytes", "process_cpu"},
	{"exception", "exception/count lock_count/count alloc_samples/count cpu/nanoseconds", "memory"},
	// None of these types has a known name: the last one is the name.
	{"exception", "exception/count", "exception"},
	{"lock_time", "lock_count/count lock_time/nanoseconds", "lock_time"},
	{"threadcreate", "threadcreate/count", "threadcreate"},
	{"events", "events/count stack_depth/count", "stack_depth"},
	{"off_cpu", "events/count off_cpu/nanoseconds", "process_cpu"},
	{"my.own type", "x/y", "x"},
	{"x", "a.b/count", "a_b"},
	{"", "", "profile"},
}

func TestMetricName(t *testing.T) {
	for _, tt := range named {
		assert.Equal(t, tt.name, MetricName(tt.profileType, typesOf(t, tt.types)), "%s: %s", tt.profileType, tt.types)
	}
}

// TestNamesAgree checks that push.v1 and /ingest lead to the same name, which the configuration sent to /ingest decides.
func TestNamesAgree(t *testing.T) {
	for _, tt := range named {
		types := typesOf(t, tt.types)
		var config map[string]typeConfig
		if text := SampleTypeConfig(tt.profileType, types); text != nil {
			require.NoError(t, json.Unmarshal(text, &config))
		}
		for _, sampleType := range types {
			if shown := config[sampleType.Name].DisplayName; shown != "" {
				assert.True(t, strings.HasPrefix(shown, tt.name), "%s is shown as %s", tt.name, shown)
			}
		}
	}
}

func TestSampleTypeConfig(t *testing.T) {
	for _, tt := range []struct{ profileType, types, config string }{
		{"cpu", "samples/count cpu/nanoseconds", ""},
		{"mutex", "contentions/count delay/nanoseconds", `{"contentions":{"units":"lock_samples","display-name":"mutex_count"},"delay":{"units":"lock_nanoseconds","display-name":"mutex_duration"}}`},
		{"block", "contentions/count delay/nanoseconds", `{"contentions":{"units":"lock_samples","display-name":"block_count"},"delay":{"units":"lock_nanoseconds","display-name":"block_duration"}}`},
		{"inuse_space", "inuse_space/bytes alloc_objects/count", `{"alloc_objects":{"units":"objects"},"inuse_space":{"units":"bytes","aggregation":"average"}}`},
		{"goroutine", "goroutine/count", `{"goroutine":{"units":"goroutines","display-name":"goroutines","aggregation":"average"}}`},
		{"my.own type", "x/y", `{"x":{"units":"y"}}`},
		{"", "", ""},
	} {
		assert.Equal(t, tt.config, string(SampleTypeConfig(tt.profileType, typesOf(t, tt.types))), "%s: %s", tt.profileType, tt.types)
	}
}
