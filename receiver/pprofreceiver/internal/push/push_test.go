// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package push

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
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/label"
)

var (
	limits = Limits{MaxSeries: 3, MaxProfiles: 4, Memory: &meter.Meter{}}
	kinds  = []Message{PushRequest, WriteRawRequest}

	example = []Series{
		{Labels: []label.Label{{Name: "__name__", Value: "cpu"}, {Name: "service_name", Value: "a"}}, Profiles: [][]byte{[]byte("one"), []byte("two?>")}},
		{},
		{Profiles: [][]byte{[]byte("three"), nil}},
	}
)

// write returns a message with these series, and unknown fields between the others.
func (m Message) write(series []Series) []byte {
	var message []byte
	for _, s := range series {
		message = appendBytes(message, m.series, m.writeSeries(s))
		message = appendNoise(message)
	}
	return message
}

func (m Message) writeSeries(s Series) []byte {
	var labels, content []byte
	for _, l := range s.Labels {
		one := appendBytes(appendNoise(appendBytes(nil, labelName, []byte(l.Name))), labelValue, []byte(l.Value))
		labels = appendBytes(labels, labelSetLabels, one)
	}
	switch {
	case m.labelSet && len(labels) > 0:
		content = appendBytes(content, seriesLabels, appendNoise(labels))
	case !m.labelSet:
		content = appendNoise(labels)
	}
	for _, p := range s.Profiles {
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
func (m Message) writeJSON(tb testing.TB, series []Series) []byte {
	tb.Helper()
	var list []any
	for _, s := range series {
		var labels, samples []any
		for _, l := range s.Labels {
			labels = append(labels, map[string]any{"name": l.Name, "value": l.Value, "z": []any{map[string]any{}}})
		}
		for _, p := range s.Profiles {
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
func normal(series []Series) []Series {
	for i := range series {
		for j, p := range series[i].Profiles {
			if len(p) == 0 {
				series[i].Profiles[j] = nil
			}
		}
	}
	return series
}

func TestRead(t *testing.T) {
	for _, m := range kinds {
		got, err := m.Read(m.write(example), limits)
		require.NoError(t, err)
		assert.Equal(t, example, normal(got))

		got, err = m.ReadJSON(m.writeJSON(t, example), limits)
		require.NoError(t, err)
		assert.Equal(t, example, normal(got))

		got, err = m.Read(nil, limits)
		require.NoError(t, err)
		assert.Empty(t, got)
	}
	_, err := PushRequest.Read(WriteRawRequest.write(example), limits)
	require.NoError(t, err, "the fields of the other kind are unknown")
}

func TestReadJSONForms(t *testing.T) {
	for text, want := range map[string][]Series{
		`{}`:              nil,
		`{"series":null}`: nil,
		`{"series":[{}]}`: {{}},
		`{"series":[{"labels":null,"samples":null}]}`:           {{}},
		`{"series":[{"samples":[{"raw_profile":"b25l"}]}]}`:     {{Profiles: [][]byte{[]byte("one")}}},
		`{"series":[{"samples":[{"rawProfile":"_-8"}]}]}`:       {{Profiles: [][]byte{{0xff, 0xef}}}},
		`{"series":[{"samples":[{"rawProfile":"\/+8="}]}]}`:     {{Profiles: [][]byte{{0xff, 0xef}}}},
		`{"series":[{"samples":[{"rawProfile":null},{}]}]}`:     {{Profiles: [][]byte{nil, nil}}},
		`{"series":[{"labels":[{"name":"a"},{"value":null}]}]}`: {{Labels: []label.Label{{Name: "a"}, {}}}},
		`{"x":{"y":[[],{}]} , "series":[{}]}`:                   {{}},
		`{"series":[{"labels":[{"name":"a","name":"b"}]}]}`:     {{Labels: []label.Label{{Name: "b"}}}},
		`null`: nil,
		`{"\u0073eries":[{"samples":[{"rawProfile":"\u005F-\u0038\n"}]}]}`: {{Profiles: [][]byte{{0xff, 0xef}}}},
		`{"series":[{"labels":[{"name":"\ud83d\ude00\t"}]}],"x":-0.5E-1}`:  {{Labels: []label.Label{{Name: "\U0001F600\t"}}}},
		`{"series":[{"labels":[{"name":"a\ud800"}]}]}`:                     {{Labels: []label.Label{{Name: "a\uFFFD"}}}},
	} {
		got, err := PushRequest.ReadJSON([]byte(text), limits)
		require.NoError(t, err, text)
		assert.Equal(t, want, normal(got), text)
	}
}

func TestMalformed(t *testing.T) {
	whole := PushRequest.write(example)
	good := 0
	for length := range whole {
		if _, err := PushRequest.Read(whole[:length], limits); err == nil {
			good++
		} else {
			require.ErrorIs(t, err, ErrMalformed)
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
		_, err := PushRequest.Read(message, limits)
		require.ErrorIs(t, err, ErrMalformed)
	}
	for _, text := range []string{
		``, `[]`, `1`, `{`, `{"series":{}}`, `{"series":[1]}`, `{"series":[{"labels":{}}]}`, `{"series":[{"labels":[{"name":1}]}]}`,
		`{"x":1,}`, `{"x":[1,]}`, `{"x":[,1]}`, `{"x" 1}`, `{1:2}`, `{"x":01}`, `{"x":1.}`, `{"x":-}`, `{"x":1e}`, `{"x":nul}`, `{"x":"`,
		`{"x":"\x"}`, `{"x":"\u00g0"}`, "{\"x\":\"\\u00\x1000\"}", `{"x":"\u00`, "{\"x\":\"\n\"}", `{"x":1`, `null x`, `{"series":[{"samples":[{"rawProfile":"QUJ\b"}]}]}`,
		`{"series":[{"samples":[{"rawProfile":"a"}]}]}`, `{"series":[{"samples":[{"rawProfile":"!!!!"}]}]}`, `{}{}`, `{}x`,
		`{"x":` + strings.Repeat("[", 101) + strings.Repeat("]", 101) + `}`, `{"x":]}`,
	} {
		_, err := PushRequest.ReadJSON([]byte(text), limits)
		require.ErrorIs(t, err, ErrMalformed, text)
	}
}

func TestTooLarge(t *testing.T) {
	long := func(n int) []label.Label { return []label.Label{{Name: "a", Value: strings.Repeat("x", n)}} }
	many := make([]label.Label, label.MaxCount+1)
	for name, c := range map[string]struct {
		series []Series
		want   error
	}{
		"series":   {series: make([]Series, 4), want: ErrTooLarge},
		"profiles": {series: []Series{{Profiles: make([][]byte, 3)}, {Profiles: make([][]byte, 2)}}, want: ErrTooLarge},
		"labels":   {series: []Series{{Labels: many}}, want: label.ErrTooLarge},
		"value":    {series: []Series{{Labels: long(1 << 20)}}, want: label.ErrTooLarge},
		"name":     {series: []Series{{Labels: []label.Label{{Name: strings.Repeat("x", 1<<20)}}}}, want: label.ErrTooLarge},
	} {
		for _, m := range kinds {
			_, err := m.Read(m.write(c.series), limits)
			require.ErrorIs(t, err, c.want, name)
			_, err = m.ReadJSON(m.writeJSON(t, c.series), limits)
			require.ErrorIs(t, err, c.want, name)
		}
	}
	_, err := PushRequest.Read(PushRequest.write([]Series{{Labels: long(label.MaxValueBytes)}}), limits)
	require.NoError(t, err)
}

// TestManySeriesCostLittle: a message of a million series is refused before memory is allocated for them.
func TestManySeriesCostLittle(t *testing.T) {
	wire := []byte(strings.Repeat("\x0a\x00", 1_000_000))
	text := []byte(`{"series":[` + strings.Repeat("{},", 1_000_000) + `{}]}`)
	assert.Less(t, testing.AllocsPerRun(3, func() {
		_, err := PushRequest.Read(wire, limits)
		require.ErrorIs(t, err, ErrTooLarge)
		_, err = PushRequest.ReadJSON(text, limits)
		require.ErrorIs(t, err, ErrTooLarge)
	}), 200.0)
}

// TestJSONCostsLittle: long unknown values, and a long profile, are not copied.
func TestJSONCostsLittle(t *testing.T) {
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
			var series []Series
			var err error
			assert.Less(t, memorytest.Allocated(func() { series, err = PushRequest.ReadJSON(message, limits) }), int64(64<<10))
			switch name {
			case "nesting":
				require.ErrorIs(t, err, ErrMalformed)
			case "label":
				require.ErrorIs(t, err, label.ErrTooLarge)
			case "profile":
				require.NoError(t, err)
				assert.Equal(t, strings.Repeat("ABC", size/4), string(series[0].Profiles[0]))
			default:
				require.NoError(t, err)
				assert.Empty(t, series)
			}
		})
	}
}

// TestReserve: memory is reserved before it is allocated.
func TestReserve(t *testing.T) {
	series := make([]Series, 100)
	for i := range series {
		for n := range 20 {
			series[i].Labels = append(series[i].Labels, label.Label{Name: fmt.Sprint("name", n), Value: strings.Repeat("v", 1000)})
		}
	}
	for _, m := range kinds {
		wire, text := m.write(series), m.writeJSON(t, series)
		message := make([]byte, len(text))
		for _, read := range []func(Limits) error{
			func(l Limits) error { _, err := m.Read(wire, l); return err },
			func(l Limits) error { copy(message, text); _, err := m.ReadJSON(message, l); return err }, // It is parsed in place.
		} {
			memorytest.Check(t, func(reserve func(int64) error) error {
				l := limits
				l.MaxSeries, l.Memory = len(series), meter.New(0, reserve)
				return read(l)
			})
		}
	}
}

// FuzzRead parses any bytes as both messages. The result is unchanged after writing and parsing it, in both encodings.
func FuzzRead(f *testing.F) {
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
		m := PushRequest
		if parca {
			m = WriteRawRequest
		}
		if _, err := m.ReadJSON(bytes.Clone(message), limits); err == nil {
			require.True(t, json.Valid(message))
		}
		for _, read := range []func([]byte, Limits) ([]Series, error){m.Read, m.ReadJSON} {
			text := bytes.Clone(message) // JSON is parsed in place.
			series, err := read(text, limits)
			if err != nil {
				continue
			}
			require.LessOrEqual(t, len(series), limits.MaxSeries)
			for _, s := range series {
				for _, l := range s.Labels {
					require.True(t, utf8.ValidString(l.Name) && utf8.ValidString(l.Value))
				}
			}
			series = normal(series)
			again, err := m.Read(m.write(series), limits)
			require.NoError(t, err)
			require.Equal(t, series, normal(again))
			again, err = m.ReadJSON(m.writeJSON(t, series), limits)
			require.NoError(t, err)
			require.Equal(t, series, normal(again))
		}
	})
}
