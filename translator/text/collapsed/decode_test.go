// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package collapsed_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/texttest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/collapsed"
)

// TestDetails decodes unusual texts that are accepted.
func TestDetails(t *testing.T) {
	for name, test := range map[string]struct {
		payload string
		form    collapsed.Form
		samples int
		sum     int64
	}{
		"no line end":           {payload: "a;b 1", samples: 1, sum: 1},
		"line ends of Windows":  {payload: "a;b 1\r\na 2\r\n", samples: 2, sum: 3},
		"several spaces":        {payload: "a;b   1  \n", samples: 1, sum: 1},
		"a tab":                 {payload: "a;b c\t5\n", samples: 1, sum: 5},
		"equal stacks":          {payload: "a;b 1\na;b 2\na;b 3", samples: 1, sum: 6},
		"nothing but line ends": {payload: "\n \n"},
		"the largest count":     {payload: "a 9223372036854775807", samples: 1, sum: 9223372036854775807},
		"lines with counts":     {payload: "a;b 1\na;b 2", form: collapsed.Lines, samples: 2, sum: 2},
		"an empty trie":         {payload: "\x00\x00\x00", form: collapsed.Trie},
		"a value at the root":   {payload: "\x00\x05\x00", form: collapsed.Tree, samples: 1, sum: 5},
	} {
		t.Run(name, func(t *testing.T) {
			pd, _ := of(test.form, 0).Valid(t, []byte(test.payload), pprof.Source{})
			assert.Equal(t, test.samples, pd.SampleCount())
			assert.Equal(t, test.sum, texttest.ValueSums(pd)["samples/count"])
		})
	}
	_, stats := of(collapsed.Groups, 0).Valid(t, []byte("a\xff;b 1"), pprof.Source{})
	assert.Equal(t, 1, stats.Repairs.InvalidUTF8)
}

// TestRefusals checks that errors have the position, the number and the limit.
func TestRefusals(t *testing.T) {
	limits := pprof.Limits{Samples: 2, LocationsPerSample: 3, InflatedBytes: 200}
	of(collapsed.Groups, 0).Refuses(t, limits, text.ErrMalformed, map[string][2]string{
		"no count":            {"a 1\na;b\n", `line 2: malformed profile: "a;b" has no count`},
		"no number":           {"a;b x", `line 1: malformed profile: column 5: the count "x"`},
		"a fraction":          {"a;b 1.5", `"1.5" is not a whole number`},
		"below 0":             {"a;b -1", `"-1" is not`},
		"too large a count":   {"a;b 9223372036854775808", "column 5"},
		"too large a sum":     {"a 9223372036854775807\na 1", "line 2"},
		"an empty frame":      {"a;;b 1", "line 1: malformed profile: column 3: a frame has no name"},
		"an empty stack":      {" 1", "column 1: a frame has no name"},
		"a control character": {"a;b\x00c 1", `column 4: a frame has the control character '\x00'`},
		"damaged gzip":        {"\x1f\x8b\x08", "cannot inflate gzip"},
		"compressed wrongly":  {"\x1f\x8b", "inflate"},
	})
	of(collapsed.Groups, 0).Refuses(t, limits, text.ErrTooLarge, map[string][2]string{
		"too many samples": {"a 1\nb 1\nc 1", "line 3: profile exceeds a limit: samples: 3, the limit is 2"},
		"too deep":         {"a;a;a;a 1", "line 1: profile exceeds a limit: locations of a sample: 4, the limit is 3"},
		"too long":         {strings.Repeat("a 1\n", 51), "bytes of the payload: 204, the limit is 200"},
	})
	of(collapsed.Trie, 0).Refuses(t, limits, text.ErrMalformed, map[string][2]string{
		"trie ends":            {"\x00\x00\x01\x02a", "byte 4: a name has 2 bytes, 1 are left"},
		"trie has no value":    {"\x00", "byte 1: the payload ends, want a value"},
		"trie goes on":         {"\x00\x00\x00\x00", "byte 3: 1 bytes follow"},
		"trie: huge number":    {"\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", "byte 1: a value is more than"},
		"trie: endless number": {"\x00" + strings.Repeat("\xff", 20), "byte 1"},
		"trie: empty frame":    {"\x00\x00\x01\x02a;\x01\x00", "byte 3: malformed profile: column 3"},
	})
	of(collapsed.Tree, 0).Refuses(t, limits, text.ErrMalformed, map[string][2]string{
		"tree: empty frame":   {"\x00\x00\x01\x01a\x00\x01\x00\x01\x00", "byte 7: malformed profile: a frame has no name"},
		"tree: huge children": {"\x00\x00\xff\xff\xff\xff\x0f", "byte 7: the payload ends"},
	})
	of(collapsed.Tree, 0).Refuses(t, limits, text.ErrTooLarge, map[string][2]string{
		"tree: too deep":     {"\x00\x00\x01" + strings.Repeat("\x01a\x00\x01", 4), "byte 15: profile exceeds a limit: locations of a sample: 4"},
		"tree: equal stacks": {"\x00\x00\x03" + strings.Repeat("\x01a\x01\x00", 3), "byte 11: profile exceeds a limit: samples: 3, the limit is 2"},
	})
	of(collapsed.Trie, 0).Refuses(t, limits, text.ErrTooLarge, map[string][2]string{
		"trie: equal stacks": {"\x00\x00\x03" + strings.Repeat("\x01a\x01\x00", 3), "byte 11: profile exceeds a limit: samples: 3, the limit is 2"},
	})
	of(collapsed.Groups, 10_000_000).Refuses(t, limits, text.ErrMalformed, map[string][2]string{
		"too large a product": {"a 1\na 9223372036854775", "line 2: malformed profile: the count 9223372036854775"},
	})
}

// TestHeaders: the lines of Austin that begin with # are no stacks, and its mode is the type of the values, unless the source has one.
func TestHeaders(t *testing.T) {
	const wall = "# austin: 3.7.0\n# interval: 100\n# mode: wall\n\nP1;T1:2;a.py:main:3 99\nP1;T1:2;a.py:main:3 1.0\n\n# duration: 100\n"
	for name, test := range map[string]struct {
		payload string
		types   []pprof.ValueType
		want    map[string]int64
		samples int
	}{
		"wall":             {payload: wall, want: map[string]int64{"wall/nanoseconds": 100_000}, samples: 1},
		"cpu":              {payload: "# austin: 3.7.0\n# mode: cpu\na;b 5\n", want: map[string]int64{"cpu/nanoseconds": 5_000}, samples: 1},
		"type of source":   {payload: wall, types: []pprof.ValueType{{Type: "wall", Unit: "microseconds"}}, want: map[string]int64{"wall/microseconds": 100}, samples: 1},
		"the mode twice":   {payload: wall + wall, want: map[string]int64{"wall/nanoseconds": 200_000}, samples: 1},
		"mode alone":       {payload: "# mode: wall\na;b 5\n", want: map[string]int64{"samples/count": 5}, samples: 1},
		"header of nobody": {payload: "# interval: 100\na;b 5\n", want: map[string]int64{"samples/count": 5}, samples: 1},
		"frames like it":   {payload: "# a: b;c 5\n#a: b 2\n# a b: c 3\n", want: map[string]int64{"samples/count": 10}, samples: 3},
	} {
		pd, stats := of(collapsed.Groups, 0).Valid(t, []byte(test.payload), pprof.Source{SampleTypes: test.types})
		assert.Equal(t, test.want, texttest.ValueSums(pd), name)
		assert.Equal(t, test.samples, stats.OTLPSamples, name)
	}
	of(collapsed.Groups, 0).Refuses(t, pprof.Limits{}, text.ErrMalformed, map[string][2]string{
		"mode memory":                {"# austin: 3.7.0\n# mode: memory\na;b 5\n", `line 2: malformed profile: the type of values is not known for the mode "memory" of Austin`},
		"mode after values":          {"# austin: 3.7.0\na;b 5\n# mode: wall\n", "line 3: malformed profile: the type of values is not known"},
		"another mode":               {"# austin: 3.7.0\n# mode: wall\na;b 5\n# mode: cpu\nc 4\n", "line 4: malformed profile: the type of values is not known"},
		"mode full":                  {"# austin: 3.7.0\n# mode: full\na 5,0,-3\n", "line 2: malformed profile: the type of values is not known"},
		"no digits after the point":  {"a;b 1.\n", `the count "1." is not a whole number`},
		"fraction":                   {"a;b 12.5\n", `the count "12.5" is not a whole number`},
		"no digits before the point": {"a;b .0\n", `the count ".0" is not a whole number`},
		"exponent":                   {"a;b 1e3\n", `the count "1e3" is not a whole number`},
	})
}

// TestWorkIsBounded: a small tree or trie cannot contain an unlimited number of long stacks.
func TestWorkIsBounded(t *testing.T) {
	limits := pprof.Limits{InflatedBytes: 1 << 20}
	chain := "\x00\x00\x01" + strings.Repeat("\x01a\x01\x01", 10_000) + "\x01a\x01\x00"
	_, _, err := collapsed.Decode([]byte(chain), pprof.Source{}, collapsed.Options{Form: collapsed.Tree, Options: text.Options{Limits: limits}})
	require.ErrorContains(t, err, "locations of all samples")
	chain = "\x00\x00\x01" + strings.Repeat("\x01a\x01\x01", 100_000) + "\x01a\x01\x00"
	_, _, err = collapsed.Decode([]byte(chain), pprof.Source{}, collapsed.Options{Form: collapsed.Trie, Options: text.Options{Limits: limits}})
	require.ErrorContains(t, err, "bytes of all stacks")
}

// TestIsText: IsText accepts only folded stacks.
func TestIsText(t *testing.T) {
	for payload, want := range map[string]bool{
		"a;b 1": true, "a;b 1\nrest": true, "main\t12\r\n": true, "": false, "\na 1": false, "a;b": false, " 1": false, "a 1.5": false,
		"\n\x04cpu 1": false, "a\x00b 1": false, "{\"a\": 1": true, "2\x001": false,
	} {
		assert.Equal(t, want, collapsed.IsText([]byte(payload)), "%q", payload)
	}
	for _, file := range profiletest.OwnPprofs(t) {
		assert.False(t, collapsed.IsText(file.Bytes(t)), file.Name)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// forms has the golden files. trie and tree contain the same stacks.
var forms = map[string]collapsed.Form{
	"groups.txt": collapsed.Groups, "lines.txt": collapsed.Lines, "trie.bin": collapsed.Trie, "tree.bin": collapsed.Tree,
}

// of returns the translation of a form, with a period.
func of(form collapsed.Form, period int64) texttest.Decode {
	return func(payload []byte, src pprof.Source, options text.Options) (pprofile.Profiles, pprof.DecodeStats, error) {
		return collapsed.Decode(payload, src, collapsed.Options{Form: form, Period: period, Options: options})
	}
}

func TestGolden(t *testing.T) {
	src := pprof.Source{
		Resource: pcommon.NewMap(), ScopeName: "scope", ScopeVersion: "1", SampleTypes: []pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		ProfileName: "itimer",
	}
	src.Resource.PutStr("service.name", "shop")
	for name, form := range forms {
		t.Run(name, func(t *testing.T) { of(form, 10_000_000).Golden(t, name, src) })
	}
}

func TestRoundTrip(t *testing.T) {
	for name, want := range map[string]int64{"groups.txt": 58, "lines.txt": 4} {
		of(forms[name], 0).RoundTrip(t, profiletest.Format(t, name), map[string]int64{"samples/count": want})
	}
}

func TestOriginalPayload(t *testing.T) { of(collapsed.Groups, 0).Original(t, "a\xff;b 1", "collapsed") }

func FuzzDecode(f *testing.F) {
	for name, form := range forms {
		f.Add(profiletest.Format(f, name), int(form), int64(0))
		f.Add(profiletest.Format(f, name), int(form), int64(10_000_000))
	}
	f.Add([]byte("a;;b 1"), 0, int64(1))
	f.Add([]byte("\x00\x00\xff\xff\xff\xff\x0f"), 3, int64(1))
	f.Fuzz(func(t *testing.T, payload []byte, form int, period int64) {
		of(collapsed.Form(form&3), period).Fuzz(t, payload)
	})
}

func TestLinearTime(t *testing.T) {
	lines := []string{"a", ";", " ", "\t", "1", "a;", "a;b ", "\r", "\v", "\xff", "\n", "a;b 1\n", "a 1\r\n", "# a: 1\n", "# "}
	nodes := []string{"\x01a\x00\x01", "\x01a\x00\x00", "\x01a\x01\x01", "\x01a\x01\x00", "\x02a;\x01\x01", "\x02a;\x00\x02", "\x01;\x01\x01"}
	for form, tokens := range map[collapsed.Form][]string{collapsed.Groups: lines, collapsed.Lines: lines, collapsed.Trie: nodes, collapsed.Tree: nodes} {
		head := ""
		if form == collapsed.Trie || form == collapsed.Tree {
			head = "\x00\x00\xff\xff\x03" // The root has many children.
		}
		of(form, 0).Linear(t, head, " 1", tokens)
	}
	profiletest.CheckLinear(t, "", " 1", []string{"a", " ", "1", "\t", "\r", "\n", "\x00"}, func(payload []byte) { collapsed.IsText(payload) })
}

// BenchmarkFormat reads 20,000 lines.
func BenchmarkFormat(b *testing.B) {
	var payload bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&payload, "main;server.handle;shop.checkout;shop.total%d;runtime.growslice %d\n", i%1000, i)
	}
	of(collapsed.Groups, 0).Benchmark(b, "folded", payload.Bytes())
}
