// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// interleaved is a pprof with alternating events of two identities, not ordered by time.
func interleaved() *payload {
	p := newPayload("")
	a, b := p.location("a", "a.js", 1), p.location("b", "b.js", 1)
	for _, second := range []int64{5, 1, 4, 2, 3, 6} {
		stack := []uint64{a}
		if second%2 == 0 {
			stack = []uint64{b, a}
		}
		p.sample(stack, nil, at(1000*second), period(second))
	}
	return p
}

func timesOf(s pprofile.Sample) []uint64 {
	var seconds []uint64
	for _, stamp := range s.TimestampsUnixNano().All() {
		seconds = append(seconds, stamp/1_000_000_000)
	}
	return seconds
}

func TestCombined(t *testing.T) {
	pd, result := decodePayload(t, interleaved(), Options{})
	p := profilesOf(pd)[0]
	require.Equal(t, 2, p.Samples().Len())
	first, second := p.Samples().At(0), p.Samples().At(1)
	assert.Equal(t, []uint64{1, 3, 5}, timesOf(first))
	assert.Equal(t, []int64{1_000_000, 3_000_000, 5_000_000}, first.Values().AsRaw(), "a value stays with its time")
	assert.Equal(t, []string{"a(a.js:1:0)"}, framesOf(pd, first))
	assert.Equal(t, []uint64{2, 4, 6}, timesOf(second))
	assert.Equal(t, []string{"b(b.js:1:0)", "a(a.js:1:0)"}, framesOf(pd, second), "the leaf stays first")
	assert.Equal(t, []int{6, 2}, []int{result.Events, result.Samples})
	assert.EqualValues(t, 1_000_000_000, p.Time())
	assert.Equal(t, uint64(5_001_000_000), p.DurationNano())
	require.NoError(t, profiletest.CheckOptions{Deduplicated: true}.Check(pd))
}

func TestPerEvent(t *testing.T) {
	pd, result := decodePayload(t, interleaved(), Options{SampleShape: PerEvent})
	p := profilesOf(pd)[0]
	var seconds []uint64
	for _, s := range p.Samples().All() {
		require.Equal(t, 1, s.Values().Len())
		require.Equal(t, 1, s.TimestampsUnixNano().Len())
		seconds = append(seconds, timesOf(s)...)
		assert.EqualValues(t, timesOf(s)[0]*1_000_000, s.Values().At(0))
	}
	assert.Equal(t, []uint64{5, 1, 4, 2, 3, 6}, seconds, "the order stays")
	assert.Equal(t, []int{6, 6}, []int{result.Events, result.Samples})
}

// TestShapesSayTheSame: both shapes of all captures contain the same events.
func TestShapesSayTheSame(t *testing.T) {
	for _, c := range captures(t) {
		combined, one := mustDecode(t, c.logs(t), Options{})
		single, other := mustDecode(t, c.logs(t), Options{SampleShape: PerEvent})
		assert.Empty(t, diff(combined, single), c.name)
		assert.Equal(t, one.Events, other.Samples, c.name)
		assert.LessOrEqual(t, one.Samples, other.Samples, c.name)
	}
}

func TestEmptyStacks(t *testing.T) {
	p := newPayload("")
	p.sample(nil, nil, at(1000), period(10), str("thread.name", "only here"))
	p.sample([]uint64{p.location("f", "a.js", 1)}, nil, at(2000), period(10))
	pd, result := decodePayload(t, p, Options{})
	assert.Equal(t, 2, profilesOf(pd)[0].Samples().Len())
	assert.Zero(t, profilesOf(pd)[0].Samples().At(0).StackIndex())
	assert.Equal(t, 2, result.Events)

	pd, result = decodePayload(t, p, Options{DropEmptyStacks: true})
	s := onlySample(t, pd)
	assert.Equal(t, []uint64{2}, timesOf(s))
	assert.Equal(t, 1, result.Events)
	assert.EqualValues(t, 2_000_000_000, profilesOf(pd)[0].Time(), "what was dropped does not count")
}

func TestNothingButEmptyStacks(t *testing.T) {
	p := newPayload("")
	p.sample(nil, nil, at(1000), period(10))
	r := newRequest("java")
	r.addPprof(p.body(t))
	r.addText("\"main\" #1\n\n")
	pd, result := mustDecode(t, r.logs, Options{DropEmptyStacks: true})
	assert.Zero(t, pd.ResourceProfiles().Len())
	assert.Zero(t, pd.Dictionary().StringTable().Len())
	assert.Equal(t, 2, result.EmptyRecords)
	assert.Equal(t, []int{1, 1, 0}, []int{result.PprofRecords, result.TextRecords, result.Events})
}

func TestPprofWithoutSamples(t *testing.T) {
	r := newRequest("nodejs")
	r.addPprof(newPayload("").body(t))
	pd, result := mustDecode(t, r.logs, Options{})
	assert.Zero(t, pd.ResourceProfiles().Len())
	assert.Equal(t, 1, result.EmptyRecords)
}

func TestFrameTypes(t *testing.T) {
	for language, want := range map[string]string{
		"java": "jvm", "nodejs": "v8js", "node": "v8js", "webjs": "v8js", "python": "cpython", "dotnet": "dotnet", "go": "go", "php": "php", "ruby": "ruby",
		"cpp": "", "": "",
	} {
		r := newRequest(language)
		r.addPprof(onePayload().body(t))
		r.addText("\n\nf(unknown)")
		for _, omit := range []bool{false, true} {
			pd, _ := mustDecode(t, r.logs, Options{OmitFrameType: omit})
			for i, location := range pd.Dictionary().LocationTable().All() {
				if got := attributesOf(pd, location.AttributeIndices()); i == 0 || want == "" || omit {
					assert.Empty(t, got, language)
				} else {
					assert.Equal(t, map[string]any{"profile.frame.type": want}, got, language)
				}
			}
		}
	}
}

func TestNativeFrames(t *testing.T) {
	p := newPayload("")
	p.sample([]uint64{p.location("Unknown_Native_Function(unknown)", "unknown", 0), p.location("Acme.Run()", "unknown", 0)}, nil, at(1))
	r := newRequest("dotnet")
	r.addPprof(p.body(t))
	pd, _ := mustDecode(t, r.logs, Options{})
	var types []any
	for _, i := range pd.Dictionary().StackTable().At(1).LocationIndices().All() {
		types = append(types, attributesOf(pd, pd.Dictionary().LocationTable().At(int(i)).AttributeIndices())["profile.frame.type"])
	}
	assert.Equal(t, []any{"native", "dotnet"}, types)
}

func TestOriginalPayload(t *testing.T) {
	p := onePayload()
	pd, _ := decodePayload(t, p, Options{IncludeOriginalPayload: true})
	got := profilesOf(pd)[0]
	assert.Equal(t, "pprof", got.OriginalPayloadFormat())
	assert.Equal(t, p.gzip(t), got.OriginalPayload().AsRaw())

	pd, _ = decodePayload(t, p, Options{})
	assert.Empty(t, profilesOf(pd)[0].OriginalPayloadFormat())
	assert.Zero(t, profilesOf(pd)[0].OriginalPayload().Len())

	r := newRequest("java")
	r.addText("\n\nf(unknown)")
	pd, _ = mustDecode(t, r.logs, Options{IncludeOriginalPayload: true})
	assert.Zero(t, profilesOf(pd)[0].OriginalPayload().Len(), "a text is no pprof")
}

func TestNamelessFunctions(t *testing.T) {
	p := newPayload("")
	p.sample([]uint64{p.location("", "", -1), p.location("", "a.js", 2), p.location("", "unknown", 0), p.location("f", "", 0)}, nil, at(1))
	pd, _ := decodePayload(t, p, Options{})
	assert.Equal(t, []string{"(anonymous)(:0:0)", "(a.js:2:0)", "(anonymous)(:0:0)", "f(:0:0)"}, framesOf(pd, onlySample(t, pd)))

	// A line that is the first line is no name either.
	p = newPayload("")
	p.fields = pprofwire.AppendFunction(p.fields, pprofwire.Function{ID: 1, StartLine: 7})
	p.fields = pprofwire.AppendLocation(p.fields, pprofwire.Location{ID: 1}, []pprofwire.Line{{FunctionID: 1}})
	p.sample([]uint64{1}, nil, at(1))
	pd, _ = decodePayload(t, p, Options{})
	assert.Equal(t, []string{"(anonymous)(:0:0)"}, framesOf(pd, onlySample(t, pd)))
}
