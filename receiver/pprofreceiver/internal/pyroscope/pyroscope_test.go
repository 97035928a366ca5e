// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope

import (
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/label"
)

func TestParseName(t *testing.T) {
	for name, want := range map[string]struct {
		app    string
		labels []label.Label
	}{
		"checkout":                       {app: "checkout"},
		"checkout{}":                     {app: "checkout"},
		"shop/checkout-v1.x_2{}":         {app: "shop/checkout-v1.x_2"},
		"checkout{region=eu-1}":          {app: "checkout", labels: []label.Label{{Name: "region", Value: "eu-1"}}},
		"a { b = c , d = e }":            {app: "a", labels: []label.Label{{Name: "b", Value: "c"}, {Name: "d", Value: "e"}}},
		"a{b=,c=d=e,}":                   {app: "a", labels: []label.Label{{Name: "b"}, {Name: "c", Value: "d=e"}}},
		"a{b={x}}":                       {app: "a", labels: []label.Label{{Name: "b", Value: "{x}"}}},
		"a{__session_id__=77,b=\xffx}":   {app: "a", labels: []label.Label{{Name: "__session_id__", Value: "77"}, {Name: "b", Value: "\uFFFDx"}}},
		"a{process.runtime.name=go1.26}": {app: "a", labels: []label.Label{{Name: "process.runtime.name", Value: "go1.26"}}},
	} {
		app, labels, err := ParseName(name)
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
		_, _, err := ParseName(name)
		require.ErrorContains(t, err, want)
		assert.Less(t, len(err.Error()), 300, "an error does not repeat long input")
	}
	_, labels, err := ParseName(manyLabels(128))
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
		got, ok := ParseTime(text)
		require.True(t, ok, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "yesterday", "now", "now-1h", "now+1m", "-1w", "-", "-1", "20261341", "1.5", "99999999999999999999", "１７９５２３９９２３",
	} {
		_, ok := ParseTime(text)
		assert.False(t, ok, text)
	}
}

func TestProfileName(t *testing.T) {
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
		got, err := ProfileName([]byte(config))
		require.NoError(t, err, config)
		assert.Equal(t, want, got, config)
	}
	for _, config := range []string{``, `[]`, `{"a":1}`, `{"a":{"display-name":1}}`, `{`} {
		_, err := ProfileName([]byte(config))
		require.ErrorContains(t, err, "cannot read sample_type_config", config)
	}
	_, err := ProfileName(make([]byte, maxConfigBytes+1))
	require.ErrorIs(t, err, label.ErrTooLarge)
}

// FuzzParameters parses a name, a time and a configuration. The parts of a valid name are complete.
func FuzzParameters(f *testing.F) {
	f.Add("checkout{region=eu-1,__session_id__=7}", "1795239923000", `{"contentions":{"display-name":"mutex_count"}}`)
	f.Add("a{b=c,,}", "now-1h", `{"a":{}}`)
	f.Add("\xff{", "20261121", `{`)
	f.Fuzz(func(t *testing.T, name, text, config string) {
		app, labels, err := ParseName(name)
		if err == nil {
			require.NotEmpty(t, app)
			require.LessOrEqual(t, len(labels), strings.Count(name, ",")+1)
			var again strings.Builder
			again.WriteString(app + "{")
			for _, l := range labels {
				require.True(t, utf8.ValidString(l.Name) && utf8.ValidString(l.Value))
				again.WriteString(l.Name + "=" + l.Value + ",")
			}
			sameApp, same, err := ParseName(again.String() + "}")
			require.NoError(t, err)
			require.Equal(t, app, sameApp)
			require.Equal(t, labels, same)
		}
		ParseTime(text)
		profile, err := ProfileName([]byte(config))
		require.True(t, err == nil || profile == "")
		require.True(t, utf8.ValidString(profile))
	})
}

func TestParseCounts(t *testing.T) {
	for _, test := range []struct {
		app, units, rate, aggregation string
		want                          Counts
	}{
		{app: "shop", want: Counts{App: "shop", Type: "cpu", Unit: "nanoseconds", Period: 10_000_000}},
		{app: "shop", rate: "0", want: Counts{App: "shop", Type: "cpu", Unit: "nanoseconds", Period: 10_000_000}},
		{app: "my.shop", units: "samples", rate: "1000", want: Counts{App: "my.shop", Type: "cpu", Unit: "nanoseconds", Period: 1_000_000}},
		{app: "my.shop.cpu", rate: "11", want: Counts{App: "my.shop", Type: "cpu", Unit: "nanoseconds", Period: 90_909_090}},
		{app: "shop.cpu", units: "nanoseconds", want: Counts{App: "shop", Type: "cpu", Unit: "nanoseconds"}},
		{app: "shop.wall", want: Counts{App: "shop", Type: "wall", Unit: "nanoseconds", Period: 10_000_000}},
		{app: "shop.itimer", want: Counts{App: "shop", Type: "cpu", Unit: "nanoseconds", ProfileName: "itimer", Period: 10_000_000}},
		{app: "shop.alloc_objects", units: "objects", rate: "100", want: Counts{App: "shop", Type: "alloc_objects", Unit: "count"}},
		{app: "shop.inuse_space", want: Counts{App: "shop", Type: "inuse_space", Unit: "bytes"}},
		{app: "shop.mutex_duration", units: "lock_nanoseconds", want: Counts{App: "shop", Type: "delay", Unit: "nanoseconds", ProfileName: "mutex"}},
		{app: "shop.block_count", want: Counts{App: "shop", Type: "contentions", Unit: "count", ProfileName: "block"}},
		{app: "shop.goroutines", aggregation: "average", want: Counts{App: "shop", Type: "goroutine", Unit: "count"}},
		{app: "shop", units: "bytes", want: Counts{App: "shop", Type: "alloc_space", Unit: "bytes"}},
		{app: "shop", units: "bytes", aggregation: "average", want: Counts{App: "shop", Type: "inuse_space", Unit: "bytes"}},
		{app: "shop", units: "objects", aggregation: "average", want: Counts{App: "shop", Type: "inuse_objects", Unit: "count"}},
		{app: ".cpu", want: Counts{App: ".cpu", Type: "cpu", Unit: "nanoseconds", Period: 10_000_000}},
	} {
		got, err := ParseCounts(test.app, test.units, test.rate, test.aggregation)
		require.NoError(t, err)
		assert.Equal(t, test.want, got, "%+v", test)
	}
	for _, test := range []struct{ app, units, rate, want string }{
		{app: "shop", units: "parsecs", want: `units "parsecs" is not known`},
		{app: "shop", rate: "fast", want: `sampleRate "fast" is not a whole number`},
		{app: "shop.cpu", rate: "-5", want: `sampleRate "-5"`},
		{app: "shop.cpu", rate: "1000000001", want: "up to 1000000000"},
	} {
		_, err := ParseCounts(test.app, test.units, test.rate, "")
		require.ErrorContains(t, err, test.want)
	}
}

// TestLinearTime: the time grows linearly with the parameter name and with sample_type_config.
func TestLinearTime(t *testing.T) {
	for _, head := range []string{"", "a{", "a{b="} {
		profiletest.CheckLinear(t, head, "}", []string{" ", "{", "}", "=", ",", ", ", "a=b,", "\xff", "a"}, func(text []byte) {
			_, _, _ = ParseName(string(text))
			_, _ = ParseTime(string(text))
		})
	}
	for _, head := range []string{"{", `{"a":{"display-name":"`} {
		profiletest.CheckLinear(t, head, `"}}`, []string{" ", `\u0061`, "a", "[", `"a":{},`, `"a":{"display-name":"b_count"},`, "1,"}, func(config []byte) {
			_, _ = ProfileName(config)
		})
	}
}
