// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
)

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
