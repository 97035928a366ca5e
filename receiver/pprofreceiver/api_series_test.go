// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
)

// maxSeries is the limit of series, and of profiles, in most tests.
const maxSeries = 4

var (
	kinds = []messageKind{pushMessage, writeRawMessage}

	example = []series{
		{labels: []label{{name: "__name__", value: "cpu"}, {name: "service_name", value: "a"}}, profiles: [][]byte{[]byte("one"), []byte("two?>")}},
		{},
		{profiles: [][]byte{[]byte("three"), nil}},
	}
)

// write returns a message with these series, and unknown fields between the others.
func (m messageKind) write(series []series) []byte {
	var message []byte
	for _, s := range series {
		message = appendBytes(message, m.series, m.writeSeries(s))
		message = appendNoise(message)
	}
	return message
}

func (m messageKind) writeSeries(s series) []byte {
	var labels, content []byte
	for _, l := range s.labels {
		one := appendBytes(appendNoise(appendBytes(nil, labelName, []byte(l.name))), labelValue, []byte(l.value))
		labels = appendBytes(labels, labelSetLabels, one)
	}
	switch {
	case m.labelSet && len(labels) > 0:
		content = appendBytes(content, seriesLabels, appendNoise(labels))
	case !m.labelSet:
		content = appendNoise(labels)
	}
	for _, p := range s.profiles {
		content = appendBytes(content, seriesSamples, appendBytes(appendBytes(nil, sampleRawProfile, p), 2, []byte("id")))
	}
	return content
}

func appendBytes(to []byte, number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), content)
}

func appendNoise(to []byte) []byte {
	to = protowire.AppendVarint(protowire.AppendTag(to, 100, protowire.VarintType), 7)
	return protowire.AppendFixed64(protowire.AppendTag(to, 101, protowire.Fixed64Type), 7)
}

// writeJSON returns the same message in JSON.
func (m messageKind) writeJSON(tb testing.TB, series []series) []byte {
	tb.Helper()
	var list []any
	for _, s := range series {
		var labels, samples []any
		for _, l := range s.labels {
			labels = append(labels, map[string]any{"name": l.name, "value": l.value, "z": []any{map[string]any{}}})
		}
		for _, p := range s.profiles {
			samples = append(samples, map[string]any{"rawProfile": base64.URLEncoding.EncodeToString(p), "ID": "id"})
		}
		one := map[string]any{"labels": labels, "samples": samples, "annotations": []any{1, nil, true}}
		if m.labelSet {
			one["labels"] = map[string]any{"labels": labels, "x": 1}
		}
		list = append(list, one)
	}
	message, err := json.Marshal(map[string]any{"series": list, "normalized": true, "tenant": "x"})
	require.NoError(tb, err)
	return message
}

// normal turns empty profiles into nil.
func normal(series []series) []series {
	for i := range series {
		for j, p := range series[i].profiles {
			if len(p) == 0 {
				series[i].profiles[j] = nil
			}
		}
	}
	return series
}

func TestReadSeries(t *testing.T) {
	for _, m := range kinds {
		got, err := m.read(m.write(example), maxSeries, &meter.Meter{})
		require.NoError(t, err)
		assert.Equal(t, example, normal(got))

		got, err = m.readJSON(m.writeJSON(t, example), maxSeries, &meter.Meter{})
		require.NoError(t, err)
		assert.Equal(t, example, normal(got))

		got, err = m.read(nil, maxSeries, &meter.Meter{})
		require.NoError(t, err)
		assert.Empty(t, got)
	}
	_, err := pushMessage.read(writeRawMessage.write(example), maxSeries, &meter.Meter{})
	require.NoError(t, err, "the fields of the other kind are unknown")
}

func TestReadSeriesJSON(t *testing.T) {
	for text, want := range map[string][]series{
		`{}`:              nil,
		`{"series":null}`: nil,
		`{"series":[{}]}`: {{}},
		`{"series":[{"labels":null,"samples":null}]}`:           {{}},
		`{"series":[{"samples":[{"raw_profile":"b25l"}]}]}`:     {{profiles: [][]byte{[]byte("one")}}},
		`{"series":[{"samples":[{"rawProfile":"_-8"}]}]}`:       {{profiles: [][]byte{{0xff, 0xef}}}},
		`{"series":[{"samples":[{"rawProfile":"\/+8="}]}]}`:     {{profiles: [][]byte{{0xff, 0xef}}}},
		`{"series":[{"samples":[{"rawProfile":null},{}]}]}`:     {{profiles: [][]byte{nil, nil}}},
		`{"series":[{"labels":[{"name":"a"},{"value":null}]}]}`: {{labels: []label{{name: "a"}, {}}}},
		`{"x":{"y":[[],{}]} , "series":[{}]}`:                   {{}},
		`{"series":[{"labels":[{"name":"a","name":"b"}]}]}`:     {{labels: []label{{name: "b"}}}},
		`null`: nil,
		`{"\u0073eries":[{"samples":[{"rawProfile":"\u005F-\u0038\n"}]}]}`: {{profiles: [][]byte{{0xff, 0xef}}}},
		`{"series":[{"labels":[{"name":"\ud83d\ude00\t"}]}],"x":-0.5E-1}`:  {{labels: []label{{name: "\U0001F600\t"}}}},
		`{"series":[{"labels":[{"name":"a\ud800"}]}]}`:                     {{labels: []label{{name: "a\uFFFD"}}}},
	} {
		got, err := pushMessage.readJSON([]byte(text), maxSeries, &meter.Meter{})
		require.NoError(t, err, text)
		assert.Equal(t, want, normal(got), text)
	}
}

func TestMalformedSeries(t *testing.T) {
	whole := pushMessage.write(example)
	good := 0
	for length := range whole {
		if _, err := pushMessage.read(whole[:length], maxSeries, &meter.Meter{}); err == nil {
			good++
		} else {
			require.Equal(t, malformed, classOf(err))
		}
	}
	// A message that ends at the end of a field is valid: three series, each followed by two fields.
	assert.Equal(t, 3*3, good)

	for _, message := range [][]byte{
		protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1),
		{0x0f},
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
	} {
		_, err := pushMessage.read(message, maxSeries, &meter.Meter{})
		require.Equal(t, malformed, classOf(err))
	}
	for _, text := range []string{
		``, `[]`, `1`, `{`, `{"series":{}}`, `{"series":[1]}`, `{"series":[{"labels":{}}]}`, `{"series":[{"labels":[{"name":1}]}]}`,
		`{"x":1,}`, `{"x":[1,]}`, `{"x":[,1]}`, `{"x" 1}`, `{1:2}`, `{"x":01}`, `{"x":1.}`, `{"x":-}`, `{"x":1e}`, `{"x":nul}`, `{"x":"`,
		`{"x":"\x"}`, `{"x":"\u00g0"}`, "{\"x\":\"\\u00\x1000\"}", `{"x":"\u00`, "{\"x\":\"\n\"}", `{"x":1`, `null x`, `{"series":[{"samples":[{"rawProfile":"QUJ\b"}]}]}`,
		`{"series":[{"samples":[{"rawProfile":"a"}]}]}`, `{"series":[{"samples":[{"rawProfile":"!!!!"}]}]}`, `{}{}`, `{}x`,
		`{"x":` + strings.Repeat("[", 101) + strings.Repeat("]", 101) + `}`, `{"x":]}`,
	} {
		_, err := pushMessage.readJSON([]byte(text), maxSeries, &meter.Meter{})
		require.Equal(t, malformed, classOf(err), text)
	}
}

func TestSeriesTooLarge(t *testing.T) {
	long := func(n int) []label { return []label{{name: "a", value: strings.Repeat("x", n)}} }
	many := make([]label, maxLabels+1)
	for name, series := range map[string][]series{
		"series":   make([]series, maxSeries+1),
		"profiles": {{profiles: make([][]byte, 3)}, {profiles: make([][]byte, 2)}},
		"labels":   {{labels: many}},
		"value":    {{labels: long(1 << 20)}},
		"name":     {{labels: []label{{name: strings.Repeat("x", 1<<20)}}}},
	} {
		for _, m := range kinds {
			_, err := m.read(m.write(series), maxSeries, &meter.Meter{})
			require.Equal(t, tooLarge, classOf(err), name)
			_, err = m.readJSON(m.writeJSON(t, series), maxSeries, &meter.Meter{})
			require.Equal(t, tooLarge, classOf(err), name)
		}
	}
	_, err := pushMessage.read(pushMessage.write([]series{{labels: long(maxLabelValue)}}), maxSeries, &meter.Meter{})
	require.NoError(t, err)
}

// TestManySeriesCostLittle: a message of a million series is refused before memory is allocated for them.
func TestManySeriesCostLittle(t *testing.T) {
	wire := []byte(strings.Repeat("\x0a\x00", 1_000_000))
	text := []byte(`{"series":[` + strings.Repeat("{},", 1_000_000) + `{}]}`)
	assert.Less(t, testing.AllocsPerRun(3, func() {
		_, err := pushMessage.read(wire, maxSeries, &meter.Meter{})
		require.Equal(t, tooLarge, classOf(err))
		_, err = pushMessage.readJSON(text, maxSeries, &meter.Meter{})
		require.Equal(t, tooLarge, classOf(err))
	}), 200.0)
}

// TestSeriesJSONCostsLittle: long unknown values, and a long profile, are not copied.
func TestSeriesJSONCostsLittle(t *testing.T) {
	const size = 1 << 20
	for name, text := range map[string]string{
		"escapes":  `{"x":"` + strings.Repeat(`\u0000`, size/6) + `"}`,
		"key":      `{"` + strings.Repeat("k", size) + `":1}`,
		"number":   `{"x":` + strings.Repeat("1", size) + `}`,
		"nesting":  `{"x":` + strings.Repeat("[", size),
		"elements": `{"x":[` + strings.Repeat("{},", size/3) + `0]}`,
		"profile":  `{"series":[{"samples":[{"rawProfile":"` + strings.Repeat("QUJD", size/4) + `"}]}]}`,
		"label":    `{"series":[{"labels":[{"name":"` + strings.Repeat(`\n`, size/2) + `"}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			message := []byte(text)
			var series []series
			var err error
			assert.Less(t, memorytest.Allocated(func() { series, err = pushMessage.readJSON(message, maxSeries, &meter.Meter{}) }), int64(64<<10))
			switch name {
			case "nesting":
				require.Equal(t, malformed, classOf(err))
			case "label":
				require.Equal(t, tooLarge, classOf(err))
			case "profile":
				require.NoError(t, err)
				assert.Equal(t, strings.Repeat("ABC", size/4), string(series[0].profiles[0]))
			default:
				require.NoError(t, err)
				assert.Empty(t, series)
			}
		})
	}
}

// TestSeriesMemory: memory is reserved before it is allocated.
func TestSeriesMemory(t *testing.T) {
	series := make([]series, 100)
	for i := range series {
		for n := range 20 {
			series[i].labels = append(series[i].labels, label{name: fmt.Sprint("name", n), value: strings.Repeat("v", 1000)})
		}
	}
	for _, m := range kinds {
		wire, text := m.write(series), m.writeJSON(t, series)
		message := make([]byte, len(text))
		for _, read := range []func(*meter.Meter) error{
			func(memory *meter.Meter) error { _, err := m.read(wire, len(series), memory); return err },
			func(memory *meter.Meter) error {
				copy(message, text) // It is parsed in place.
				_, err := m.readJSON(message, len(series), memory)
				return err
			},
		} {
			memorytest.Check(t, func(reserve func(int64) error) error { return read(meter.New(0, reserve)) })
		}
	}
}

// FuzzSeries parses any bytes as both messages. The result is unchanged after writing and parsing it, in both encodings.
func FuzzSeries(f *testing.F) {
	for i, m := range kinds {
		f.Add(m.write(example), i == 1)
		f.Add(m.writeJSON(f, example), i == 1)
	}
	for _, text := range []string{
		`{"series":[{"samples":[{"rawProfile":"_-8"}]}]}`,
		`{"series":[{"samples":[{"rawProfile":"\u002b\/8\u003d"}]}]}`,
		`{"x":"` + strings.Repeat(`\u0000`, 1000) + `","` + strings.Repeat("k", 1000) + `":-1.5e+3,"series":[]}`,
		`{"series":[{"samples":[{"rawProfile":"` + strings.Repeat("QUJD", 10_000) + `"}]}]}`,
		`{"x":` + strings.Repeat(`[{"a":`, 40) + "1" + strings.Repeat("}]", 40) + `}`,
		`{"x":` + strings.Repeat("[", 100_000),
		`{"s\u0065ries":[{"labels":[{"name":"\ud83d\ude00","value":"\ud800"}]}]}`,
	} {
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, message []byte, parca bool) {
		m := pushMessage
		if parca {
			m = writeRawMessage
		}
		if _, err := m.readJSON(bytes.Clone(message), maxSeries, &meter.Meter{}); err == nil {
			require.True(t, json.Valid(message))
		}
		for _, read := range []func([]byte, int, *meter.Meter) ([]series, error){m.read, m.readJSON} {
			text := bytes.Clone(message) // JSON is parsed in place.
			series, err := read(text, maxSeries, &meter.Meter{})
			if err != nil {
				continue
			}
			require.LessOrEqual(t, len(series), maxSeries)
			for _, s := range series {
				for _, l := range s.labels {
					require.True(t, utf8.ValidString(l.name) && utf8.ValidString(l.value))
				}
			}
			series = normal(series)
			again, err := m.read(m.write(series), maxSeries, &meter.Meter{})
			require.NoError(t, err)
			require.Equal(t, series, normal(again))
			again, err = m.readJSON(m.writeJSON(t, series), maxSeries, &meter.Meter{})
			require.NoError(t, err)
			require.Equal(t, series, normal(again))
		}
	})
}
