// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesymbolizer

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/debuginfo"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/source"
)

// sums returns the values of a counter by the values of its labels other than processor.
func sums(t *testing.T, tel *componenttest.Telemetry, name string) map[string]int64 {
	t.Helper()
	m := must.Get(tel.GetMetric("otelcol_processor_profile_symbolizer_" + name))(t)
	values := map[string]int64{}
	add := func(points []metricdata.DataPoint[int64]) {
		for _, p := range points {
			var key strings.Builder
			for _, a := range p.Attributes.ToSlice() {
				if a.Key != "processor" {
					fmt.Fprintf(&key, "%s=%s ", a.Key, a.Value.AsString())
				}
			}
			_, found := p.Attributes.Value(attribute.Key("processor"))
			assert.True(t, found)
			values[key.String()] += p.Value
		}
	}
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		add(data.DataPoints)
	case metricdata.Gauge[int64]:
		add(data.DataPoints)
	}
	return values
}

func TestTelemetry(t *testing.T) {
	c, cfg := programInDirectory(t)
	tel := componenttest.NewTelemetry()
	s, _ := symbolizerOf(t, tel, cfg)

	pd := messageOf(c)
	d := pd.Dictionary()
	d.MappingTable().AppendEmpty()             // without a build id
	padding := d.LocationTable().AppendEmpty() // outside of the program
	padding.SetMappingIndex(1)
	padding.SetAddress(start + 0x10000000)
	unknown := d.LocationTable().AppendEmpty()
	unknown.SetMappingIndex(2)
	unknown.SetAddress(1)
	named := d.LocationTable().AppendEmpty() // is left alone
	named.SetMappingIndex(1)
	named.SetAddress(start + c.outer)
	named.Lines().AppendEmpty()
	require.NoError(t, s.ConsumeProfiles(t.Context(), pd))
	assert.Equal(t, map[string]int64{
		"result=named ": int64(c.size), "result=unknown ": 1, "result=no_build_id ": 1,
	}, sums(t, tel, "locations"))
	assert.Equal(t, map[string]int64{"result=missing source=cache ": 1, "result=found source=directories ": 1}, sums(t, tel, "fetches"))
	assert.Positive(t, sums(t, tel, "cache_bytes")[""])
	m := must.Get(tel.GetMetric("otelcol_processor_profile_symbolizer_index_duration"))(t)
	assert.EqualValues(t, 1, m.Data.(metricdata.Histogram[float64]).DataPoints[0].Count)

	c.buildID = "ff" + c.buildID[2:]
	require.NoError(t, s.ConsumeProfiles(t.Context(), messageOf(c)))
	assert.EqualValues(t, c.size, sums(t, tel, "locations")["result=missing "])
	s.telemetry.indexed(time.Second, debuginfo.Stats{Split: 1, Elsewhere: 2, Skipped: 3, Malformed: 4})
	assert.Equal(t, map[string]int64{
		"reason=split ": 1, "reason=alternate ": 2, "reason=version ": 3, "reason=malformed ": 4,
	}, sums(t, tel, "unread_debug_info"))
	s.telemetry.fetched("debuginfod", source.Failed, errors.New("no"))
	assert.EqualValues(t, 1, sums(t, tel, "fetches")["result=failed source=debuginfod "])
}
