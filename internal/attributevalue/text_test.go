// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributevalue

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

func value(tb testing.TB, raw any) pcommon.Value {
	tb.Helper()
	v := pcommon.NewValueEmpty()
	require.NoError(tb, v.FromRaw(raw))
	return v
}

// TestTextEqualsPdata compares with AsString, for values of up to 32 levels: for these the stack of the tests is large enough.
func TestTextEqualsPdata(t *testing.T) {
	every := make([]any, 0, 300)
	for r := range rune(256) {
		every = append(every, string(r), string([]byte{byte(r)}), []byte{byte(r)})
	}
	for _, f := range []float64{0, math.Copysign(0, -1), 1, -1.5, 1e-6, 9e-7, 1e-7, 1e-10, 1e-300, 1e20, 1e21, 1e100, -2e-9, math.MaxFloat64, math.Pi, math.SmallestNonzeroFloat64} {
		assert.Equal(t, value(t, f).AsString(), Text(value(t, f)))
		every = append(every, f)
	}
	for _, raw := range []any{
		nil, "", "text", "a\xff", `"<&>"`, 7, int64(math.MinInt64), true, false, math.NaN(), math.Inf(1), math.Inf(-1),
		[]byte{},
		[]byte{1},
		[]byte{1, 2},
		[]byte{1, 2, 3},
		[]byte("\xff\xfe\x00\x01 and more"),
		[]any{},
		map[string]any{},
		[]any{nil, []byte{}, []any{}, map[string]any{}},
		every,
		map[string]any{"b": 1, "a": []any{true, "x"}, "": nil, "ä": 1.5, "A": map[string]any{"z": 1, "y": 2}},
		[]any{"\u2028\u2029\ufffd\U0010ffff\x7f<script>&\xed\xa0\x80\xf0\x9f"},
		map[string]any{"\x00\xff": "\xc3", "<": ">"},
	} {
		assert.Equal(t, value(t, raw).AsString(), Text(value(t, raw)))
	}
	whole := profiletest.Nest(pcommon.NewValueEmpty(), MaxDepth)
	assert.Equal(t, whole.AsString(), Text(whole))
}

func TestTextOfAnyValueEqualsPdata(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := build(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "program"))
		if b.depth <= MaxDepth && b.finite {
			require.Equal(t, b.value.AsString(), Text(b.value))
		}
	})
}

func TestTextOfNonFiniteNumbers(t *testing.T) {
	assert.Equal(t, `["NaN",{"limit":"Infinity"},"-Infinity",7]`,
		Text(value(t, []any{math.NaN(), map[string]any{"limit": math.Inf(1)}, math.Inf(-1), 7})))
}

// TestRepeatedKeys: if a key appears several times, the last pair counts. Only a message from the wire can have such keys.
func TestRepeatedKeys(t *testing.T) {
	v := wireMap(t, "b", "a", "b", "a", "c", "b")
	assert.Equal(t, `{"a":3,"b":5,"c":4}`, Text(v))
	assert.Equal(t, v.AsString(), Text(v))
	for n := range 4 {
		var keys []string
		for _, p := range sorted(v.Map(), n) {
			keys = append(keys, fmt.Sprint(p.key, p.value.Int()))
		}
		assert.Equal(t, []string{"a3", "b5", "c4"}[:n], append([]string{}, keys...), "the first %d of them", n)
	}
}

// wireMap returns a map with these keys and their positions as values.
func wireMap(tb testing.TB, keys ...string) pcommon.Value {
	tb.Helper()
	list := []byte(nil)
	for i, key := range keys {
		pair := append([]byte{0x0a, byte(len(key))}, key...)
		pair = append(pair, 0x12, 2, 0x18, byte(i))
		list = append(append(list, 0x0a, byte(len(pair))), pair...)
	}
	v := append([]byte{0x32, byte(len(list))}, list...)
	pair := append([]byte{0x0a, 1, 'm', 0x12, byte(len(v))}, v...)
	resource := append([]byte{0x0a, byte(len(pair))}, pair...)
	profiles := append([]byte{0x0a, byte(len(resource))}, resource...)
	pd, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(append([]byte{0x0a, byte(len(profiles))}, profiles...))
	require.NoError(tb, err)
	found, _ := pd.ResourceProfiles().At(0).Resource().Attributes().Get("m")
	require.Equal(tb, len(keys), found.Map().Len())
	return found
}

// TestDepthIsLimited renders a value of a million levels, with a stack of 1 MiB.
func TestDepthIsLimited(t *testing.T) {
	deep := profiletest.Nest(pcommon.NewValueEmpty(), 1_000_000)
	want := Text(profiletest.Nest(pcommon.NewValueEmpty(), MaxDepth))
	assert.Equal(t, strings.Replace(want, "innermost", marker, 1), Text(deep))
	assert.True(t, json.Valid([]byte(Text(deep))))

	wide := pcommon.NewValueMap()
	wide.Map().PutInt("before", 1)
	profiletest.Nest(wide.Map().PutEmpty("deep"), MaxDepth)
	wide.Map().PutInt("last", 2)
	assert.True(t, strings.HasPrefix(Text(wide), `{"before":1,"deep":[`))
	assert.True(t, strings.HasSuffix(Text(wide), `],"last":2}`))
}

func TestLengthIsLimited(t *testing.T) {
	ints, texts := pcommon.NewValueSlice(), pcommon.NewValueMap()
	for i := range 8_000 {
		ints.Slice().AppendEmpty().SetInt(int64(i) << 40)
		texts.Map().PutEmpty(fmt.Sprintf("%06d", 7_999-i)).SetStr("ä")
	}
	for name, v := range map[string]pcommon.Value{
		"ints": ints, "texts": texts,
		"bytes":   value(t, make([]byte, 1<<20)),
		"escapes": value(t, []any{strings.Repeat("\x00", 1<<20)}),
		"letters": value(t, []any{strings.Repeat("価", 1<<20)}),
		"faulty":  value(t, []any{strings.Repeat("\xff", 1<<20)}),
		"key":     value(t, map[string]any{strings.Repeat("k", 1<<20): 1}),
	} {
		whole := string(AppendText(nil, v, math.MaxInt))
		assert.Equal(t, v.AsString(), whole, name)
		for _, limit := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 100, maxTextBytes, len(whole) - 1} {
			text := string(AppendText([]byte("before"), v, limit))
			require.True(t, strings.HasPrefix(text, "before"))
			text = strings.TrimPrefix(text, "before")
			assert.True(t, utf8.ValidString(text), name)
			assert.LessOrEqual(t, len(text), limit, name)
			if limit >= len(marker) {
				assert.Greater(t, len(text), limit-utf8.UTFMax, name)
				cut, marked := strings.CutSuffix(text, marker)
				assert.True(t, marked, name)
				assert.True(t, strings.HasPrefix(whole, cut), name)
			}
		}
		assert.Equal(t, whole, string(AppendText(nil, v, len(whole))), name)
		assert.LessOrEqual(t, len(Text(v)), maxTextBytes, name)
	}
}

func TestStringsAreNotCut(t *testing.T) {
	long := strings.Repeat("x", 2*maxTextBytes)
	assert.Equal(t, long, Text(pcommon.NewValueStr(long)))
	exact := value(t, make([]byte, maxTextBytes/4*3))
	assert.Equal(t, base64.StdEncoding.EncodeToString(make([]byte, maxTextBytes/4*3)), Text(exact))
}
