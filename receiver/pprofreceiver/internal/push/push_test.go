// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/label"
)

var (
	limits = Limits{MaxSeries: 3, MaxProfiles: 4}
	kinds  = []Message{PushRequest, WriteRawRequest}

	example = []Series{
		{Labels: []label.Label{{Name: "__name__", Value: "cpu"}, {Name: "service_name", Value: "a"}}, Profiles: [][]byte{[]byte("one"), []byte("two?>")}},
		{},
		{Profiles: [][]byte{[]byte("three"), nil}},
	}
)

// write is the message of these series, with fields that mean nothing between those that do.
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

// writeJSON is the same in JSON.
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
		`{"series":[{"labels":[{"name":"a\ud800"}]}]}`:          {{Labels: []label.Label{{Name: "a\uFFFD"}}}},
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
	// What ends at the end of a field of the message is a message: three series, each with two fields behind it.
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

// TestManySeriesCostLittle gives up on a message of a million series before it takes memory for them.
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

// FuzzRead reads any bytes as either message. What is read stays the same when it is written and read again, in both
// forms.
func FuzzRead(f *testing.F) {
	for i, m := range kinds {
		f.Add(m.write(example), i == 1)
		f.Add(m.writeJSON(f, example), i == 1)
	}
	f.Add([]byte(`{"series":[{"samples":[{"rawProfile":"_-8"}]}]}`), false)
	f.Fuzz(func(t *testing.T, message []byte, parca bool) {
		m := PushRequest
		if parca {
			m = WriteRawRequest
		}
		for _, read := range []func([]byte, Limits) ([]Series, error){m.Read, m.ReadJSON} {
			series, err := read(message, limits)
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
