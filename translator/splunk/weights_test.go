// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// valuesOf returns all values of a profile in the order of their times.
func valuesOf(p pprofile.Profile) []int64 {
	var values []int64
	for _, s := range p.Samples().All() {
		values = append(values, s.Values().AsRaw()...)
	}
	return values
}

// TestWeights checks the values and the period.
func TestWeights(t *testing.T) {
	const milli = 1_000_000
	for _, test := range []struct {
		name       string
		attributes []any
		labels     [][]label
		values     [][]int64
		wantType   string
		want       []int64
		wantPeriod int64
		wantLasts  uint64
		ignored    int
	}{
		{name: "one period", labels: [][]label{{period(10)}, {period(10)}}, wantType: "cpu/nanoseconds", want: []int64{10 * milli, 10 * milli}, wantPeriod: 10 * milli, wantLasts: 11 * milli},
		{name: "as text", labels: [][]label{{str("source.event.period", "10")}}, wantType: "cpu/nanoseconds", want: []int64{10 * milli}, wantPeriod: 10 * milli, wantLasts: 10 * milli},
		{name: "of the record", attributes: []any{"source.event.period", 10}, labels: [][]label{{}}, wantType: "cpu/nanoseconds", want: []int64{10 * milli}, wantPeriod: 10 * milli, wantLasts: 10 * milli},
		{name: "of the record, as text", attributes: []any{"source.event.period", "10"}, labels: [][]label{{}}, wantType: "cpu/nanoseconds", want: []int64{10 * milli}, wantPeriod: 10 * milli, wantLasts: 10 * milli},
		{name: "the label's counts", attributes: []any{"source.event.period", 20}, labels: [][]label{{period(10)}}, wantType: "cpu/nanoseconds", want: []int64{10 * milli}, wantPeriod: 10 * milli, wantLasts: 10 * milli},
		{name: "several periods", labels: [][]label{{period(0)}, {period(10)}, {period(11)}}, wantType: "cpu/nanoseconds", want: []int64{0, 10 * milli, 11 * milli}, wantLasts: 3 * milli},
		{name: "none", labels: [][]label{{}, {}}, wantType: "samples/count", want: []int64{1, 1}, wantLasts: 2 * milli},
		{name: "zeros", labels: [][]label{{period(0)}, {period(0)}}, wantType: "samples/count", want: []int64{1, 1}, wantLasts: 2 * milli},
		{name: "below 0, as an early Java agent", labels: [][]label{{period(-999)}}, wantType: "samples/count", want: []int64{1}, wantLasts: milli, ignored: 1},
		{name: "more than nanoseconds can count", labels: [][]label{{period(math.MaxInt64 / 1000)}}, wantType: "samples/count", want: []int64{1}, wantLasts: milli, ignored: 1},
		{name: "no number", labels: [][]label{{str("source.event.period", "often")}}, wantType: "samples/count", want: []int64{1}, wantLasts: milli, ignored: 1},
		{name: "values beside the period", labels: [][]label{{period(10)}}, values: [][]int64{{77}}, wantType: "cpu/nanoseconds", want: []int64{10 * milli}, wantPeriod: 10 * milli, wantLasts: 10 * milli},

		{name: "allocations", attributes: []any{"profiling.data.type", "allocation"}, labels: [][]label{{}, {}}, values: [][]int64{{100}, {0}}, wantType: "alloc_space/bytes", want: []int64{100, 0}, wantLasts: 2 * milli},
		{name: "allocations, one without a value", attributes: []any{"profiling.data.type", "allocation"}, labels: [][]label{{}, {}}, values: [][]int64{{100}, nil}, wantType: "alloc_space/bytes", want: []int64{100, 0}, wantLasts: 2 * milli},
		{name: "allocations without values", attributes: []any{"profiling.data.type", "allocation"}, labels: [][]label{{}}, wantType: "samples/count", want: []int64{1}, wantLasts: milli},
		{name: "no type, events of allocations", attributes: []any{"profiling.data.type", "", "source.event.name", "jdk.ObjectAllocationSample"}, labels: [][]label{{}}, values: [][]int64{{9}}, wantType: "alloc_space/bytes", want: []int64{9}, wantLasts: milli},
		{name: "no type, memory", attributes: []any{"profiling.data.type", "", "memory.allocated", 3}, labels: [][]label{{}}, values: [][]int64{{9}}, wantType: "alloc_space/bytes", want: []int64{9}, wantLasts: milli},
		{name: "another type", attributes: []any{"profiling.data.type", "wall"}, labels: [][]label{{period(10)}}, wantType: "cpu/nanoseconds", want: []int64{10 * milli}, wantPeriod: 10 * milli, wantLasts: 10 * milli},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPayload("")
			id := p.location("f", "a.js", 1)
			for i, labels := range test.labels {
				var values []int64
				if test.values != nil {
					values = test.values[i]
				}
				p.sample([]uint64{id}, values, append([]label{at(int64(i + 1))}, labels...)...)
			}
			pd, result := decodePayload(t, p, Options{}, test.attributes...)
			require.Len(t, profilesOf(pd), 1)
			got := profilesOf(pd)[0]
			assert.Equal(t, test.wantType, sampleTypeOf(pd, got))
			assert.Equal(t, test.want, valuesOf(got))
			assert.Equal(t, test.wantPeriod, got.Period())
			wantPeriodType := "/"
			if test.wantType == "cpu/nanoseconds" {
				wantPeriodType = test.wantType
			}
			assert.Equal(t, wantPeriodType, stringAt(pd, got.PeriodType().TypeStrindex())+"/"+stringAt(pd, got.PeriodType().UnitStrindex()))
			assert.Equal(t, test.wantLasts, got.DurationNano())
			assert.Equal(t, test.ignored, result.Repairs.IgnoredNumbers)
		})
	}
}

// TestPeriodsCanBeMerged: pages and go tool pprof merge the profiles of a service, whether their events have one period or
// several, as those of snapshots have.
func TestPeriodsCanBeMerged(t *testing.T) {
	encoded := func(periods ...int64) []byte {
		p := newPayload("")
		id := p.location("f", "a.js", 1)
		for i, millis := range periods {
			p.sample([]uint64{id}, nil, at(int64(i+1)), period(millis))
		}
		pd, _ := decodePayload(t, p, Options{})
		for one, err := range pprof.NewEncoder(pprof.EncodeOptions{}).All(pd) {
			require.NoError(t, err)
			return bytes.Clone(one.Pprof)
		}
		return nil
	}
	continuous, snapshot := encoded(10, 10), encoded(0, 10, 12)
	for _, order := range [][][]byte{{continuous, snapshot}, {snapshot, continuous}} {
		var parsed []*profile.Profile
		for _, one := range order {
			p, err := profile.ParseData(one)
			require.NoError(t, err)
			parsed = append(parsed, p)
		}
		merged, err := profile.Merge(parsed)
		require.NoError(t, err)
		assert.Equal(t, &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, merged.PeriodType)
		assert.EqualValues(t, 10_000_000, merged.Period)
	}
}

func TestOtherDataTypesStay(t *testing.T) {
	pd, _ := decodePayload(t, onePayload(), Options{}, "profiling.data.type", "wall")
	assert.Equal(t, map[string]any{"profiling.data.type": "wall"}, attributesOf(pd, profilesOf(pd)[0].AttributeIndices()))
}

func TestSampleTypeOfAllocations(t *testing.T) {
	for _, test := range []struct{ dataType, name, unit, want string }{
		{"allocation", "allocationSize", "bytes", "alloc_space/bytes"},
		{"", "allocationSize", "bytes", "alloc_space/bytes"},
		{"allocation", "inuse_space", "bytes", "inuse_space/bytes"},
		{"cpu", "allocationSize", "bytes", "allocationSize/bytes"},
		{"cpu", "wall", "milliseconds", "wall/milliseconds"},
	} {
		p := newPayload("")
		p.sampleType(test.name, test.unit)
		p.sample([]uint64{p.location("f", "A.java", 1)}, []int64{42}, at(1))
		pd, _ := decodePayload(t, p, Options{}, "profiling.data.type", test.dataType)
		got := profilesOf(pd)
		require.Len(t, got, 1)
		assert.Equal(t, test.want, sampleTypeOf(pd, got[0]))
		assert.Equal(t, []int64{42}, valuesOf(got[0]))
	}
}

func TestSampleTypeWithoutValues(t *testing.T) {
	p := newPayload("")
	p.sampleType("cpu", "nanoseconds")
	p.sample([]uint64{p.location("f", "a.js", 1)}, nil, at(1), period(5))
	pd, _ := decodePayload(t, p, Options{})
	assert.Equal(t, "cpu/nanoseconds", sampleTypeOf(pd, profilesOf(pd)[0]))
	assert.Equal(t, []int64{5_000_000}, valuesOf(profilesOf(pd)[0]))
}

// fullProfile is a pprof with every field, as google/pprof writes it.
func fullProfile() *profile.Profile {
	mapping := &profile.Mapping{ID: 1, Start: 0x1000, Limit: 0x2000, Offset: 0x10, File: "/bin/php", BuildID: "abc", HasFunctions: true, HasInlineFrames: true}
	unused := &profile.Mapping{ID: 2, Start: 0x5000, Limit: 0x6000, File: "/lib/unused"}
	outer := &profile.Function{ID: 1, Name: "outer", SystemName: "_outer", Filename: "a.php", StartLine: 3}
	inner := &profile.Function{ID: 2, Name: "inner", SystemName: "inner", Filename: "b.php"}
	location := &profile.Location{ID: 1, Mapping: mapping, Address: 0x1234, IsFolded: true, Line: []profile.Line{{Function: inner, Line: 5, Column: 2}, {Function: outer, Line: 9}}}
	bare := &profile.Location{ID: 2, Mapping: mapping, Address: 0x1500}
	return &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		DefaultSampleType: "samples",
		PeriodType:        &profile.ValueType{Type: "wall", Unit: "nanoseconds"},
		Period:            123,
		Sample: []*profile.Sample{
			{Location: []*profile.Location{location, bare}, Value: []int64{2, 0}, Label: map[string][]string{"kind": {"a"}}, NumLabel: map[string][]int64{"source.event.time": {1000}}},
			{Location: []*profile.Location{bare}, Value: []int64{0, 0}, NumLabel: map[string][]int64{"source.event.time": {2000}}},
			{Location: []*profile.Location{bare}, Value: []int64{3, 4}, NumLabel: map[string][]int64{"source.event.time": {3000}}},
		},
		Mapping:    []*profile.Mapping{mapping, unused},
		Function:   []*profile.Function{outer, inner},
		Location:   []*profile.Location{location, bare},
		Comments:   []string{"first", "second"},
		DropFrames: "drop", KeepFrames: "keep", DocURL: "http://doc",
	}
}

// TestFullPprof: all fields of a pprof are translated, also those that agents do not set.
func TestFullPprof(t *testing.T) {
	r := newRequest("php")
	record := r.addPprof("")
	record.Body().SetEmptyBytes().FromRaw(serialized(t, fullProfile()))
	pd, result := mustDecode(t, r.logs, Options{})
	got := profilesOf(pd)
	require.Len(t, got, 2)
	assert.Equal(t, "samples/count", sampleTypeOf(pd, got[0]), "the default sample type comes first")
	assert.Equal(t, "cpu/nanoseconds", sampleTypeOf(pd, got[1]))
	assert.Equal(t, []int64{2, 0, 3}, valuesOf(got[0]), "a sample of zeros stands in the first profile")
	assert.Equal(t, []int64{4}, valuesOf(got[1]))
	assert.Equal(t, 3, result.Events)
	for _, p := range got {
		assert.EqualValues(t, 123, p.Period())
		assert.Equal(t, "wall", stringAt(pd, p.PeriodType().TypeStrindex()))
		assert.Equal(t, map[string]any{
			"pprof.profile.comment": []any{"first", "second"}, "pprof.profile.drop_frames": "drop", "pprof.profile.keep_frames": "keep", "pprof.profile.doc_url": "http://doc",
		}, attributesOf(pd, p.AttributeIndices()))
		assert.EqualValues(t, 1_000_000_000, p.Time())
	}
	assert.NotEqual(t, got[0].ProfileID(), got[1].ProfileID())

	dict := pd.Dictionary()
	s := got[0].Samples().At(0)
	assert.Equal(t, map[string]any{"kind": "a"}, attributesOf(pd, s.AttributeIndices()))
	assert.Equal(t, []string{"inner(b.php:5:2)", "outer(a.php:9:0)"}, framesOf(pd, s))
	require.Equal(t, 2, dict.MappingTable().Len(), "the mapping that no sample reaches is left out")
	m := dict.MappingTable().At(1)
	assert.Equal(t, []any{uint64(0x1000), uint64(0x2000), uint64(0x10), "/bin/php"},
		[]any{m.MemoryStart(), m.MemoryLimit(), m.FileOffset(), stringAt(pd, m.FilenameStrindex())})
	assert.Equal(t, map[string]any{
		"process.executable.build_id.gnu": "abc", "pprof.mapping.has_functions": true, "pprof.mapping.has_inline_frames": true,
	}, attributesOf(pd, m.AttributeIndices()))
	locations := dict.StackTable().At(int(s.StackIndex())).LocationIndices()
	first, second := dict.LocationTable().At(int(locations.At(0))), dict.LocationTable().At(int(locations.At(1)))
	assert.EqualValues(t, 0x1234, first.Address())
	assert.EqualValues(t, 1, first.MappingIndex())
	assert.Equal(t, map[string]any{"pprof.location.is_folded": true, "profile.frame.type": "php"}, attributesOf(pd, first.AttributeIndices()))
	assert.EqualValues(t, 0x1500, second.Address())
	assert.Empty(t, attributesOf(pd, second.AttributeIndices()), "what a frame without a function is, is not known")
	for _, f := range dict.FunctionTable().All() {
		switch stringAt(pd, f.NameStrindex()) {
		case "outer":
			assert.Equal(t, "_outer", stringAt(pd, f.SystemNameStrindex()))
			assert.EqualValues(t, 3, f.StartLine())
		case "inner":
			assert.Zero(t, f.SystemNameStrindex(), "a system name that is the name says nothing")
		}
	}
}

func TestValueCounts(t *testing.T) {
	for _, types := range [][]string{nil, {"a"}, {"a", "b"}} {
		p := newPayload("")
		for _, name := range types {
			p.sampleType(name, "count")
		}
		p.sample([]uint64{p.location("f", "a.js", 1)}, []int64{1, 2, 3}, at(1))
		r := newRequest("nodejs")
		r.addPprof(p.body(t))
		_, result := decodeAndCheck(t, r.logs, Options{})
		require.Len(t, result.Refused, 1)
		assert.Equal(t, ReasonPprof, result.Refused[0].Reason)
		assert.ErrorContains(t, result.Refused[0].Err, "sample 0 has 3 values")
	}
}

func serialized(t *testing.T, p *profile.Profile) []byte {
	t.Helper()
	require.NoError(t, p.CheckValid())
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))
	return b.Bytes()
}

// TestPeriodOfContrib: contrib's exporter writes the period of a profile as text, in the unit of its values instead of
// milliseconds.
func TestPeriodOfContrib(t *testing.T) {
	const milli = 1_000_000
	for _, test := range []struct {
		name, unit  string
		label       label
		own         int64
		ownUnit     string
		want, lasts int64
	}{
		{"nanoseconds", "nanoseconds", str("source.event.period", "10000000"), 0, "", 10 * milli, 10 * milli},
		{"milliseconds", "milliseconds", str("source.event.period", "10"), 0, "", 10 * milli, 10 * milli},
		{"half a millisecond in nanoseconds", "nanoseconds", str("source.event.period", "500000"), 0, "", milli / 2, milli},
		{"no whole number of milliseconds", "nanoseconds", str("source.event.period", "10500000"), 0, "", 10*milli + milli/2, 10*milli + milli/2},
		{"50 microseconds in nanoseconds", "nanoseconds", str("source.event.period", "50000"), 0, "", milli / 20, milli},
		{"as few nanoseconds as count", "nanoseconds", str("source.event.period", "10001"), 0, "", 10_001, milli},
		{"ten seconds in milliseconds", "nanoseconds", str("source.event.period", "10000"), 0, "", 10_000 * milli, 10_000 * milli},
		{"too few microseconds", "microseconds", str("source.event.period", "100"), 0, "", 100 * milli, 100 * milli},
		{"too few nanoseconds", "nanoseconds", str("source.event.period", "100"), 0, "", 100 * milli, 100 * milli},
		{"beside the pprof's own", "nanoseconds", str("source.event.period", "10000000"), 20 * milli, "nanoseconds", 20 * milli, 20 * milli},
		{"own one of events", "nanoseconds", str("source.event.period", "10000000"), 7, "count", 7, 10 * milli},
		{"number of an agent", "nanoseconds", num("source.event.period", 10), 0, "", 10 * milli, 10 * milli},
		{"values that are no time", "count", str("source.event.period", "10"), 0, "", 10 * milli, 10 * milli},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPayload("")
			p.sampleType("cpu", test.unit)
			if test.own > 0 {
				p.fields = pprofwire.AppendPeriodType(p.fields, pprofwire.ValueType{Type: p.string("cpu"), Unit: p.string(test.ownUnit)})
				p.fields = pprofwire.AppendHeader(p.fields, pprofwire.Header{Period: test.own})
			}
			p.sample([]uint64{p.location("f", "a.go", 1)}, []int64{5}, at(1), test.label)
			pd, _ := decodePayload(t, p, Options{})
			got := profilesOf(pd)[0]
			assert.Equal(t, []int64{5}, valuesOf(got))
			assert.Equal(t, test.want, got.Period())
			assert.EqualValues(t, test.lasts, got.DurationNano())
		})
	}
}
