// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

func TestParseName(t *testing.T) {
	for name, want := range map[string]struct {
		app    string
		labels []label
	}{
		"checkout":                       {app: "checkout"},
		"checkout{}":                     {app: "checkout"},
		"shop/checkout-v1.x_2{}":         {app: "shop/checkout-v1.x_2"},
		"checkout{region=eu-1}":          {app: "checkout", labels: []label{{name: "region", value: "eu-1"}}},
		"a { b = c , d = e }":            {app: "a", labels: []label{{name: "b", value: "c"}, {name: "d", value: "e"}}},
		"a{b=,c=d=e,}":                   {app: "a", labels: []label{{name: "b"}, {name: "c", value: "d=e"}}},
		"a{b={x}}":                       {app: "a", labels: []label{{name: "b", value: "{x}"}}},
		"a{__session_id__=77,b=\xffx}":   {app: "a", labels: []label{{name: "__session_id__", value: "77"}, {name: "b", value: "\uFFFDx"}}},
		"a{process.runtime.name=go1.26}": {app: "a", labels: []label{{name: "process.runtime.name", value: "go1.26"}}},
	} {
		app, labels, err := parseName(name)
		require.NoError(t, err, name)
		assert.Equal(t, want.app, app, name)
		assert.Equal(t, want.labels, labels, name)
	}
	for name, want := range map[string]string{
		"":              "names no application",
		"{a=b}":         "names no application",
		"a{b=c":         "closing brace",
		"a{b=c}d":       "closing brace",
		"a{b}":          "is not key=value",
		"a{=c}":         "is not key=value",
		manyLabels(129): "more than 128 labels",
		"a{b=" + strings.Repeat("x", 1<<20) + "}": "value of label \"b\": 1048576, the limit is 16384",
		"a{" + strings.Repeat("x", 1<<20) + "=b}": "bytes of the label name",
		strings.Repeat("x", 1<<20):                "bytes of the application's name",
	} {
		_, _, err := parseName(name)
		require.ErrorContains(t, err, want)
		assert.Less(t, len(err.Error()), 300, "an error does not repeat long input")
	}
	_, labels, err := parseName(manyLabels(128))
	require.NoError(t, err)
	assert.Len(t, labels, 128)
}

func manyLabels(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = "l" + strconv.Itoa(i) + "=x"
	}
	return "a{" + strings.Join(list, ",") + "}"
}

func TestParseTime(t *testing.T) {
	second := time.Date(2026, 11, 21, 5, 45, 23, 0, time.UTC) // 1795239923
	for text, want := range map[string]time.Time{
		"20261121":            time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
		"1795239923":          second,
		"1795239923000":       second,
		"1795239923000001":    second.Add(time.Microsecond),
		"1795239923000000001": second.Add(1),
		"0":                   time.Unix(0, 0).UTC(),
	} {
		got, ok := parseTime(text)
		require.True(t, ok, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "yesterday", "now", "now-1h", "now+1m", "-1w", "-", "-1", "20261341", "1.5", "99999999999999999999", "１７９５２３９９２３",
	} {
		_, ok := parseTime(text)
		assert.False(t, ok, text)
	}
}

func TestDisplayedName(t *testing.T) {
	for config, want := range map[string]string{
		`{}`: "",
		`{"contentions":{"units":"lock_samples","display-name":"mutex_count"},"delay":{"display-name":"mutex_duration"}}`: "mutex",
		`{"contentions":{"display-name":"block_count"},"delay":{"display-name":"block_duration"}}`:                        "block",
		`{"goroutine":{"units":"goroutines","aggregation":"average","display-name":"goroutines"}}`:                        "goroutines",
		`{"inuse_space":{"units":"bytes","aggregation":"average"},"alloc_space":{"units":"bytes"}}`:                       "",
		`{"a":{"display-name":"one"},"b":{"display-name":"two"}}`:                                                         "",
		`{"a":{"display-name":"one"},"b":{"cumulative":true,"sampled":true}}`:                                             "one",
		`null`: "",
	} {
		got, err := displayedName([]byte(config))
		require.NoError(t, err, config)
		assert.Equal(t, want, got, config)
	}
	for _, config := range []string{``, `[]`, `{"a":1}`, `{"a":{"display-name":1}}`, `{`} {
		_, err := displayedName([]byte(config))
		require.ErrorContains(t, err, "cannot read sample_type_config", config)
	}
	_, err := displayedName(make([]byte, maxConfigBytes+1))
	require.Equal(t, tooLarge, classOf(err))
}

// FuzzParameters parses a name, a time and a configuration. The parts of a valid name are complete.
func FuzzParameters(f *testing.F) {
	f.Add("checkout{region=eu-1,__session_id__=7}", "1795239923000", `{"contentions":{"display-name":"mutex_count"}}`)
	f.Add("a{b=c,,}", "now-1h", `{"a":{}}`)
	f.Add("\xff{", "20261121", `{`)
	f.Fuzz(func(t *testing.T, name, text, config string) {
		app, labels, err := parseName(name)
		if err == nil {
			require.NotEmpty(t, app)
			require.LessOrEqual(t, len(labels), strings.Count(name, ",")+1)
			var again strings.Builder
			again.WriteString(app + "{")
			for _, l := range labels {
				require.True(t, utf8.ValidString(l.name) && utf8.ValidString(l.value))
				again.WriteString(l.name + "=" + l.value + ",")
			}
			sameApp, same, err := parseName(again.String() + "}")
			require.NoError(t, err)
			require.Equal(t, app, sameApp)
			require.Equal(t, labels, same)
		}
		parseTime(text)
		profile, err := displayedName([]byte(config))
		require.True(t, err == nil || profile == "")
		require.True(t, utf8.ValidString(profile))
	})
}

func TestParseCounts(t *testing.T) {
	for _, test := range []struct {
		app, units, rate, aggregation string
		want                          valueCounts
	}{
		{app: "shop", want: valueCounts{app: "shop", valueType: "cpu", unit: "nanoseconds", period: 10_000_000}},
		{app: "shop", rate: "0", want: valueCounts{app: "shop", valueType: "cpu", unit: "nanoseconds", period: 10_000_000}},
		{app: "my.shop", units: "samples", rate: "1000", want: valueCounts{app: "my.shop", valueType: "cpu", unit: "nanoseconds", period: 1_000_000}},
		{app: "my.shop.cpu", rate: "11", want: valueCounts{app: "my.shop", valueType: "cpu", unit: "nanoseconds", period: 90_909_090}},
		{app: "shop.cpu", units: "nanoseconds", want: valueCounts{app: "shop", valueType: "cpu", unit: "nanoseconds"}},
		{app: "shop.wall", want: valueCounts{app: "shop", valueType: "wall", unit: "nanoseconds", period: 10_000_000}},
		{app: "shop.itimer", want: valueCounts{app: "shop", valueType: "cpu", unit: "nanoseconds", profileName: "itimer", period: 10_000_000}},
		{app: "shop.alloc_objects", units: "objects", rate: "100", want: valueCounts{app: "shop", valueType: "alloc_objects", unit: "count"}},
		{app: "shop.inuse_space", want: valueCounts{app: "shop", valueType: "inuse_space", unit: "bytes"}},
		{app: "shop.mutex_duration", units: "lock_nanoseconds", want: valueCounts{app: "shop", valueType: "delay", unit: "nanoseconds", profileName: "mutex"}},
		{app: "shop.block_count", want: valueCounts{app: "shop", valueType: "contentions", unit: "count", profileName: "block"}},
		{app: "shop.goroutines", aggregation: "average", want: valueCounts{app: "shop", valueType: "goroutine", unit: "count"}},
		{app: "shop", units: "bytes", want: valueCounts{app: "shop", valueType: "alloc_space", unit: "bytes"}},
		{app: "shop", units: "bytes", aggregation: "average", want: valueCounts{app: "shop", valueType: "inuse_space", unit: "bytes"}},
		{app: "shop", units: "objects", aggregation: "average", want: valueCounts{app: "shop", valueType: "inuse_objects", unit: "count"}},
		{app: ".cpu", want: valueCounts{app: ".cpu", valueType: "cpu", unit: "nanoseconds", period: 10_000_000}},
	} {
		got, err := parseCounts(test.app, test.units, test.rate, test.aggregation)
		require.NoError(t, err)
		assert.Equal(t, test.want, got, "%+v", test)
	}
	for _, test := range []struct{ app, units, rate, want string }{
		{app: "shop", units: "parsecs", want: `units "parsecs" is not known`},
		{app: "shop", rate: "fast", want: `sampleRate "fast" is not a whole number`},
		{app: "shop.cpu", rate: "-5", want: `sampleRate "-5"`},
		{app: "shop.cpu", rate: "1000000001", want: "up to 1000000000"},
	} {
		_, err := parseCounts(test.app, test.units, test.rate, "")
		require.ErrorContains(t, err, test.want)
	}
}

// TestParametersLinearTime: the time grows linearly with the parameter name and with sample_type_config.
func TestParametersLinearTime(t *testing.T) {
	for _, head := range []string{"", "a{", "a{b="} {
		profiletest.CheckLinear(t, head, "}", []string{" ", "{", "}", "=", ",", ", ", "a=b,", "\xff", "a"}, func(text []byte) {
			_, _, _ = parseName(string(text))
			_, _ = parseTime(string(text))
		})
	}
	for _, head := range []string{"{", `{"a":{"display-name":"`} {
		profiletest.CheckLinear(t, head, `"}}`, []string{" ", `\u0061`, "a", "[", `"a":{},`, `"a":{"display-name":"b_count"},`, "1,"}, func(config []byte) {
			_, _ = displayedName(config)
		})
	}
}
