// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// requireRefused decodes an invalid payload: the error has one class, and the result is empty.
func requireRefused(t *testing.T, raw []byte, limits pprof.Limits, class error, says string) {
	t.Helper()
	pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{Limits: limits}).Decode(raw, pprof.Source{})
	require.ErrorIs(t, err, class)
	for _, other := range []error{pprof.ErrMalformed, pprof.ErrTooLarge, pprof.ErrNotPprof} {
		if !errors.Is(other, class) {
			require.NotErrorIs(t, err, other)
		}
	}
	require.ErrorContains(t, err, says)
	require.Zero(t, pd)
}

// TestDecodeMalformed: invalid references and contradictions. The error names the field and its position.
func TestDecodeMalformed(t *testing.T) {
	sampled := func() *payload { return newPayload("cpu/ns").code().sample([]uint32{1}, []int64{1}) }
	for name, test := range map[string]struct {
		raw  []byte
		says string
	}{
		"nothing":               {nil, "empty"},
		"garbage":               {[]byte("this is not a profile"), "Profile"},
		"JSON":                  {[]byte(`{"a":1}`), "Profile"},
		"location unknown":      {sampled().sample([]uint32{1, 4}, []int64{1}).bytes(), "sample 1: location id 4"},
		"location id of hashes": {sampled().location(pprofwire.Location{ID: 1 << 40}).sample([]uint32{4}, []int64{1}).bytes(), "sample 1: location id 4"},
		"location 0":            {sampled().sample([]uint32{0}, []int64{1}).bytes(), "sample 1: location id 0"},
		"function unknown":      {sampled().location(pprofwire.Location{ID: 9}, pprofwire.Line{FunctionID: 7}).bytes(), "location 3: function id 7"},
		"location of id 0":      {sampled().location(pprofwire.Location{}).bytes(), "location 3 has id 0"},
		"function of id 0":      {sampled().function(pprofwire.Function{}).bytes(), "function 3 has id 0"},
		"mapping of id 0":       {sampled().mapping(pprofwire.Mapping{}).bytes(), "mapping 0 has id 0"},
		"location id twice":     {sampled().location(pprofwire.Location{ID: 2, Address: 1}).bytes(), "location 3: id 2 belongs to location 1"},
		"location's line added": {sampled().location(pprofwire.Location{ID: 2}, pprofwire.Line{FunctionID: 2}, pprofwire.Line{FunctionID: 2}).bytes(), "location 3: id 2"},
		"function id twice":     {sampled().function(pprofwire.Function{ID: 1, StartLine: 1}).bytes(), "function 3: id 1"},
		"mapping id twice":      {sampled().mapping(pprofwire.Mapping{ID: 1}).mapping(pprofwire.Mapping{ID: 1, Start: 1}).bytes(), "mapping 1: id 1"},
		"too many values":       {sampled().sample(nil, []int64{1, 2}).bytes(), "sample 1 has 2 values, there are 1 sample types"},
		"too few values":        {newPayload("a/1", "b/2", "c/3").sample(nil, []int64{1, 2}).bytes(), "sample 0 has 2 values, there are 3 sample types"},
		"values without types":  {newPayload().sample(nil, []int64{1, 2}).sample(nil, []int64{1}).bytes(), "sample 1 has 1 values, there are 2 sample types"},
		"string unknown":        {sampled().function(pprofwire.Function{ID: 9, Name: 99}).bytes(), "function 3: string 99 does not exist"},
		"cut":                   {sampled().bytes()[:21], "ends in the middle"},
		"two profiles":          {append(timed(), timed()...), "several profiles"},
		"gzip cut":              {gzipped(t, sampled().bytes())[:30], "gzip"},
		"gzip and more":         {append(gzipped(t, sampled().bytes()), "garbage"...), "gzip"},
		"zstd, only its magic":  {[]byte{0x28, 0xb5, 0x2f, 0xfd}, "zstd"},
	} {
		t.Run(name, func(t *testing.T) { requireRefused(t, test.raw, pprof.Limits{}, pprof.ErrMalformed, test.says) })
	}
}

func timed() []byte {
	return newPayload("cpu/ns").header(pprofwire.Header{TimeNanos: 5}).bytes()
}

func gzipped(t *testing.T, raw []byte) []byte {
	t.Helper()
	compressed, err := pprof.AppendGzip(nil, raw, 0)
	require.NoError(t, err)
	return compressed
}

// TestSampleTypesOfSource: the number of sample types of the source must equal the number of values.
func TestSampleTypesOfSource(t *testing.T) {
	raw := newPayload().sample(nil, []int64{1, 2}).bytes()
	_, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(raw, pprof.Source{SampleTypes: []pprof.ValueType{{Type: "a"}}})
	require.ErrorIs(t, err, pprof.ErrMalformed)
	require.ErrorContains(t, err, "sample 0 has 2 values, there are 1 sample types")
}

// TestDecodeLimits: each limit is tested with a payload at the limit, and with one above it.
func TestDecodeLimits(t *testing.T) {
	plain := newPayload("a/1", "b/2", "c/3").code().
		sample([]uint32{1, 2, 3, 1}, []int64{1, 2, 3}, str("key", "a text of 18 bytes"), num("n", 1, ""), num("n", 2, "")).
		sample([]uint32{1}, []int64{0, 4, 0}).sample([]uint32{2}, []int64{0, 0, 0}).bytes()
	compressed := gzipped(t, plain)
	length := len(plain)
	for name, test := range map[string]struct {
		raw   []byte
		limit func(*pprof.Limits) *int
		value int
		says  string
	}{
		"bytes":          {plain, func(l *pprof.Limits) *int { return &l.InflatedBytes }, length, "bytes of the payload"},
		"inflated bytes": {compressed, func(l *pprof.Limits) *int { return &l.InflatedBytes }, length, "bytes after decompression"},
		"OTLP samples":   {plain, func(l *pprof.Limits) *int { return &l.Samples }, 5, "samples of all 3 sample types: 5, the limit is 4"},
		"locations":      {plain, func(l *pprof.Limits) *int { return &l.LocationsPerSample }, 4, "locations of sample 0: 4, the limit is 3"},
		"labels":         {plain, func(l *pprof.Limits) *int { return &l.LabelsPerSample }, 3, "labels of sample 0: 3, the limit is 2"},
	} {
		t.Run(name, func(t *testing.T) {
			var limits pprof.Limits
			*test.limit(&limits) = test.value
			_, _, err := pprof.NewDecoder(pprof.DecodeOptions{Limits: limits}).Decode(test.raw, pprof.Source{})
			require.NoError(t, err)
			*test.limit(&limits) = test.value - 1
			requireRefused(t, test.raw, limits, pprof.ErrTooLarge, test.says)
		})
	}
}

// TestLimitsOfMadeUpTypes: the limit of sample types also applies to those that are added to payloads without any.
func TestLimitsOfMadeUpTypes(t *testing.T) {
	raw := newPayload().sample(nil, make([]int64, pprof.MaxSampleTypes+1)).bytes()
	requireRefused(t, raw, pprof.Limits{}, pprof.ErrTooLarge, "sample types: 257, the limit is 256")
	raw = newPayload().sample(nil, make([]int64, pprof.MaxSampleTypes)).bytes()
	_, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(raw, pprof.Source{})
	require.NoError(t, err)
}

// TestZeroValuesCount: zero values count toward the limit only if they are kept.
func TestZeroValuesCount(t *testing.T) {
	raw := newPayload("a/1", "b/2").sample(nil, []int64{1, 0}).sample(nil, []int64{0, 0}).bytes()
	limits := pprof.Limits{Samples: 2}
	_, _, err := pprof.NewDecoder(pprof.DecodeOptions{Limits: limits}).Decode(raw, pprof.Source{})
	require.NoError(t, err)
	_, _, err = pprof.NewDecoder(pprof.DecodeOptions{Limits: limits, KeepZeroValues: true}).Decode(raw, pprof.Source{})
	require.ErrorIs(t, err, pprof.ErrTooLarge)
	require.ErrorContains(t, err, "samples of all 2 sample types: 4, the limit is 2")
}

// TestNoLimitMeansDefault: 0 and less mean the default, which accepts every profile of this repository.
func TestNoLimitMeansDefault(t *testing.T) {
	raw := newPayload("a/1").sample(nil, []int64{1}).bytes()
	for _, limits := range []pprof.Limits{{}, {InflatedBytes: -1, Samples: -1, LocationsPerSample: -1, LabelsPerSample: -1}} {
		_, _, err := pprof.NewDecoder(pprof.DecodeOptions{Limits: limits}).Decode(raw, pprof.Source{})
		require.NoError(t, err)
	}
	long := newPayload("a/1")
	long.text(strings.Repeat("x", pprof.MaxStringBytes+1))
	requireRefused(t, long.bytes(), pprof.Limits{}, pprof.ErrTooLarge, "the limit is 1048576")
}

// TestLegacyFormats: payloads in the older formats have their own error.
func TestLegacyFormats(t *testing.T) {
	binaryCPU := func(words ...byte) []byte {
		raw := make([]byte, 0, 40)
		for _, w := range words {
			raw = append(raw, w, 0, 0, 0, 0, 0, 0, 0)
		}
		return raw
	}
	for name, raw := range map[string][]byte{
		"Go heap":         []byte("heap profile: 1: 2 [3: 4] @ heap/1048576\n1: 2 [3: 4] @ 0x1 0x2\n"),
		"Go goroutines":   []byte("goroutine profile: total 7\n1 @ 0x1 0x2\n"),
		"C++ heap":        []byte("heap profile:      2:      9 [     2:      9] @ heapprofile\n"),
		"growth":          []byte("heap profile:      2:      9 [     2:      9] @ growthz\n"),
		"contention":      []byte("--- contentionz 1 ---\ncycles/second = 1000000000\n"),
		"mutex of Go":     []byte("--- mutex:\ncycles/second=1000\nsampling period=1\n"),
		"threads":         []byte("--- threadz 1 ---\n\n--- Thread 7eff63124940 (name: main/14748) stack: ---\n"),
		"space before it": []byte("\n\n  --- threadz 1 ---\n"),
		"binary CPU":      binaryCPU(0, 3, 0, 100, 0),
	} {
		t.Run(name, func(t *testing.T) {
			requireRefused(t, raw, pprof.Limits{}, pprof.ErrNotPprof, "not a pprof")
			requireRefused(t, gzipped(t, raw), pprof.Limits{}, pprof.ErrNotPprof, "not a pprof")
		})
	}
	for name, raw := range map[string][]byte{
		"nothing":     nil,
		"a pprof":     timed(),
		"text":        []byte("profile of a person"),
		"far behind":  append(bytes.Repeat([]byte{'x'}, 1000), "goroutine profile: total 7"...),
		"few zeros":   make([]byte, 23),
		"many zeros":  make([]byte, 100),
		"second line": []byte("hello\ngoroutine profile: total 7\n"),
	} {
		_, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(raw, pprof.Source{})
		assert.NotErrorIs(t, err, pprof.ErrNotPprof, name)
	}
}

// TestNewerThanLegacy: a valid pprof is accepted, whatever its text looks like.
func TestNewerThanLegacy(t *testing.T) {
	p := newPayload("a/1")
	p.body = append(pprofwire.AppendString(nil, ""), pprofwire.AppendString(nil, "goroutine profile: total 7")...)
	_, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(p.body, pprof.Source{})
	require.NoError(t, err)
}

// TestRecording: a recording has its own error, compressed or not.
func TestRecording(t *testing.T) {
	recording := jfrtest.Example().Bytes()
	for name, payload := range map[string][]byte{"plain": recording, "gzip": gzipped(t, recording)} {
		_, stats, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(payload, pprof.Source{})
		require.ErrorIs(t, err, pprof.ErrRecording, name)
		assert.Equal(t, len(recording), stats.InflatedBytes, name)
	}
}
