// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func of(t *testing.T, attributes map[string]any, limit int, first ...string) Labels {
	t.Helper()
	resource := pcommon.NewMap()
	require.NoError(t, resource.FromRaw(attributes))
	return Of(resource, limit, first, Name)
}

// Collisions are resolved the same way whatever the order of the attributes.
func TestLabelsCollide(t *testing.T) {
	labels := of(t, map[string]any{
		"a-b": "dash", "a_b": "exact", "a b": "blank", "9": "digit", "service_name": "fake", "service.name": "checkout",
		"__name__": "reserved", "__session_id__": "7", "empty": "", "pyroscope_spy": "gospy", "n": int64(4),
	}, 30)
	assert.Equal(t, Labels{
		Service: "checkout", Profiler: "gospy", Dropped: 2,
		List: []Label{
			{"_9", "digit"},
			{"__session_id__", "7"},
			{"a_b", "exact"},
			{"a_b_2", "blank"},
			{"a_b_3", "dash"},
			{"n", "4"},
			{"service_name_2", "fake"},
		},
	}, labels)
}

// Many keys with one name cost no more than other keys. Trying all suffixes for each of them would take minutes.
func TestManyLabelsCollide(t *testing.T) {
	const keys = 100_000
	attributes := make(map[string]any, keys)
	for i := range keys {
		attributes["a"+string([]rune{rune(0x4e00 + i/1_000), rune(0x4e00 + i%1_000)})] = strconv.Itoa(i)
	}
	resource := pcommon.NewMap()
	require.NoError(t, resource.FromRaw(attributes))
	begin := time.Now()
	labels := Of(resource, keys, nil, Name)
	assert.Less(t, time.Since(begin), 30*time.Second)
	require.Len(t, labels.List, keys)
	byName := map[string]string{}
	for _, label := range labels.List {
		byName[label.Name] = label.Value
	}
	assert.Len(t, byName, keys)
	assert.Equal(t, "0", byName["a__"])
	assert.Equal(t, "99999", byName["a___100000"])

	few := Of(resource, 2, nil, Name)
	assert.Equal(t, []Label{{"a__", "0"}, {"a___2", "1"}}, few.List)
	assert.Equal(t, keys-2, few.Dropped)
}

// Keys above the limit and keys without a value still keep the names that are spelled like them.
func TestNamesAboveTheLimit(t *testing.T) {
	labels := of(t, map[string]any{"a-b": "dash", "a_b": "exact", "a_b_2": "also exact", "a b": ""}, 1, "a-b")
	assert.Equal(t, []Label{{"a_b_3", "dash"}}, labels.List)
	assert.Equal(t, 3, labels.Dropped)
}

// Neither the underscore before a digit nor a suffix makes a name longer than the limit.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("n", maxNameBytes)
	labels := of(t, map[string]any{
		strings.Repeat("9", maxNameBytes): "digits", long: "exact", long + "1": "clipped", long + "2": "clipped as well",
		long[:maxNameBytes-2] + "é": "differs at its end", long[:maxNameBytes-2] + "ü": "collides with that",
	}, 9)
	require.Len(t, labels.List, 6)
	names := map[string]bool{}
	for _, label := range labels.List {
		assert.LessOrEqual(t, len(label.Name), maxNameBytes)
		names[label.Name] = true
	}
	assert.Len(t, names, 6)
}

// Of long values that many resources and sample types can share, only the beginning is read.
func TestLongValuesAreNotRead(t *testing.T) {
	const size, repeats = 8 << 20, 500
	long := strings.Repeat("\xffa", size/2)
	resource := map[string]any{attributevalue.ServiceName: long, "k": long}
	types := slices.Repeat([]pprof.SampleType{{Name: long, Unit: "count"}}, repeats)
	var labels Labels
	assert.Less(t, profiletest.CPUTime(func() {
		for range repeats {
			labels = of(t, resource, 9)
		}
		MetricName("x", types)
	}), memorytest.Slowdown*time.Second)
	assert.Equal(t, labels.Service, labels.List[0].Value)
	assert.LessOrEqual(t, len(labels.Service), maxValueBytes)
	assert.Greater(t, len(labels.Service), maxValueBytes-utf8.UTFMax)
}

func TestPrometheusNames(t *testing.T) {
	resource := pcommon.NewMap()
	require.NoError(t, resource.FromRaw(map[string]any{"host.name": "a", "host_name": "b", "host-name": "c", "9.é": "d"}))
	assert.Equal(t, []Label{{"_9__", "d"}, {"host_name", "b"}, {"host_name_2", "c"}, {"host_name_3", "a"}},
		Of(resource, 9, nil, PrometheusName).List)
}

func TestLabelsLimit(t *testing.T) {
	labels := of(t, map[string]any{"a": "1", "b": "2", "c": "3", "d": "4"}, 2, "d", "none", "d")
	assert.Equal(t, []Label{{"a", "1"}, {"d", "4"}}, labels.List)
	assert.Equal(t, 2, labels.Dropped)
	assert.Equal(t, attributevalue.UnknownService, labels.Service)
	assert.Empty(t, of(t, map[string]any{"a": "1"}, 0).List)
	long := of(t, map[string]any{"k": strings.Repeat("é", 2000) + "\xff"}, 9).List[0].Value
	assert.Len(t, long, maxValueBytes)
}

func TestIngestName(t *testing.T) {
	labels := of(t, map[string]any{"service.name": "shop/check out{x}", "a": " x,y={z}\n ", "b": "1"}, 9)
	assert.Equal(t, "shop/check_out_x_{a=x_y=_z__,b=1}", labels.IngestName())
	assert.Equal(t, "unknown_service{}", (&Labels{Service: attributevalue.UnknownService}).IngestName())
}
