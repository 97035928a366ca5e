// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package collapsed_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/collapsed"
)

var update = flag.Bool("update", false, "update the golden files")

var cpu = pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}

func decode(t *testing.T, payload []byte, src pprof.Source, options collapsed.Options) (pprofile.Profiles, pprof.DecodeStats) {
	t.Helper()
	pd, stats, err := collapsed.Decode(payload, src, options)
	require.NoError(t, err)
	require.NoError(t, profiletest.Check(pd))
	assert.Equal(t, pd.SampleCount(), stats.OTLPSamples)
	return pd, stats
}

// forms has the golden files. trie and tree contain the same stacks.
var forms = map[string]collapsed.Form{
	"groups.txt": collapsed.Groups, "lines.txt": collapsed.Lines, "trie.bin": collapsed.Trie, "tree.bin": collapsed.Tree,
}

// TestGolden compares the profiles of each form with a readable text. To update the files, run go test
// ./translator/text/collapsed -run TestGolden -update.
func TestGolden(t *testing.T) {
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			resource := pcommon.NewMap()
			resource.PutStr("service.name", "shop")
			src := pprof.Source{Resource: resource, ScopeName: "scope", ScopeVersion: "1", SampleTypes: []pprof.ValueType{cpu}, ProfileName: "itimer"}
			pd, _ := decode(t, profiletest.Format(t, name), src, collapsed.Options{Form: form, Period: 10_000_000})
			profiletest.Golden(t, name+".golden", profiletest.Render(pd), *update)
			again, _ := decode(t, profiletest.Format(t, name), src, collapsed.Options{Form: form, Period: 10_000_000})
			assert.Equal(t, profiletest.Marshal(t, pd), profiletest.Marshal(t, again), "equal bytes for equal input")
		})
	}
}

// TestRoundTrip encodes the stacks as a pprof. google/pprof must get the same counts.
func TestRoundTrip(t *testing.T) {
	for name, want := range map[string]int64{"groups.txt": 58, "lines.txt": 4} {
		pd, stats := decode(t, profiletest.Format(t, name), pprof.Source{}, collapsed.Options{Form: forms[name]})
		got := map[string]int64{}
		for encoded, err := range pprof.NewEncoder(pprof.EncodeOptions{}).All(pd) {
			require.NoError(t, err)
			profiletest.PprofSums(t, got, encoded.Pprof)
		}
		assert.Equal(t, map[string]int64{"samples/count": want}, got)
		assert.Equal(t, profiletest.ValueSums(pd), got)
		assert.Equal(t, len(profiletest.Format(t, name)), stats.InflatedBytes)
	}
}

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
			pd, _ := decode(t, []byte(test.payload), pprof.Source{}, collapsed.Options{Form: test.form})
			assert.Equal(t, test.samples, pd.SampleCount())
			assert.Equal(t, test.sum, profiletest.ValueSums(pd)["samples/count"])
		})
	}
	pd, stats := decode(t, []byte("a\xff;b 1"), pprof.Source{}, collapsed.Options{Options: text.Options{IncludeOriginalPayload: true}})
	assert.Equal(t, 1, stats.Repairs.InvalidUTF8)
	p := pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
	assert.Equal(t, "a\xff;b 1", string(p.OriginalPayload().AsRaw()))
	assert.Equal(t, "collapsed", p.OriginalPayloadFormat())
}

// TestRefusals checks that errors have the position, the number and the limit.
func TestRefusals(t *testing.T) {
	small := pprof.Limits{
		Samples: 2, LocationsPerSample: 3, InflatedBytes: 200,
	}
	for name, test := range map[string]struct {
		payload string
		form    collapsed.Form
		period  int64
		class   error
		says    string
	}{
		"no count":             {payload: "a 1\na;b\n", class: text.ErrMalformed, says: `line 2: malformed profile: "a;b" has no count`},
		"no number":            {payload: "a;b x", class: text.ErrMalformed, says: `line 1: malformed profile: column 5: the count "x"`},
		"a fraction":           {payload: "a;b 1.5", class: text.ErrMalformed, says: `"1.5" is not a whole number`},
		"below 0":              {payload: "a;b -1", class: text.ErrMalformed, says: `"-1" is not`},
		"too large a count":    {payload: "a;b 9223372036854775808", class: text.ErrMalformed, says: "column 5"},
		"too large a product":  {payload: "a 1\na 9223372036854775", period: 10_000_000, class: text.ErrMalformed, says: "line 2: malformed profile: the count 9223372036854775"},
		"too large a sum":      {payload: "a 9223372036854775807\na 1", class: text.ErrMalformed, says: "line 2"},
		"an empty frame":       {payload: "a;;b 1", class: text.ErrMalformed, says: "line 1: malformed profile: column 3: a frame has no name"},
		"an empty stack":       {payload: " 1", class: text.ErrMalformed, says: "column 1: a frame has no name"},
		"a control character":  {payload: "a;b\x00c 1", class: text.ErrMalformed, says: `column 4: a frame has the control character '\x00'`},
		"too many samples":     {payload: "a 1\nb 1\nc 1", class: text.ErrTooLarge, says: "line 3: profile exceeds a limit: samples: 3, the limit is 2"},
		"too deep":             {payload: "a;a;a;a 1", class: text.ErrTooLarge, says: "line 1: profile exceeds a limit: locations of a sample: 4, the limit is 3"},
		"damaged gzip":         {payload: "\x1f\x8b\x08", class: text.ErrMalformed, says: "cannot inflate gzip"},
		"too long":             {payload: strings.Repeat("a 1\n", 51), class: text.ErrTooLarge, says: "bytes of the payload: 204, the limit is 200"},
		"trie ends":            {payload: "\x00\x00\x01\x02a", form: collapsed.Trie, class: text.ErrMalformed, says: "byte 4: a name has 2 bytes, 1 are left"},
		"trie has no value":    {payload: "\x00", form: collapsed.Trie, class: text.ErrMalformed, says: "byte 1: the payload ends, want a value"},
		"trie goes on":         {payload: "\x00\x00\x00\x00", form: collapsed.Trie, class: text.ErrMalformed, says: "byte 3: 1 bytes follow"},
		"trie: huge number":    {payload: "\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", form: collapsed.Trie, class: text.ErrMalformed, says: "byte 1: a value is more than"},
		"trie: endless number": {payload: "\x00" + strings.Repeat("\xff", 20), form: collapsed.Trie, class: text.ErrMalformed, says: "byte 1"},
		"trie: empty frame":    {payload: "\x00\x00\x01\x02a;\x01\x00", form: collapsed.Trie, class: text.ErrMalformed, says: "byte 3: malformed profile: column 3"},
		"tree: empty frame":    {payload: "\x00\x00\x01\x01a\x00\x01\x00\x01\x00", form: collapsed.Tree, class: text.ErrMalformed, says: "byte 7: malformed profile: a frame has no name"},
		"tree: too deep":       {payload: "\x00\x00\x01" + strings.Repeat("\x01a\x00\x01", 4), form: collapsed.Tree, class: text.ErrTooLarge, says: "byte 15: profile exceeds a limit: locations of a sample: 4"},
		"tree: huge children":  {payload: "\x00\x00\xff\xff\xff\xff\x0f", form: collapsed.Tree, class: text.ErrMalformed, says: "byte 7: the payload ends"},
		"compressed wrongly":   {payload: "\x1f\x8b", says: "inflate"},
	} {
		t.Run(name, func(t *testing.T) {
			pd, stats, err := collapsed.Decode([]byte(test.payload), pprof.Source{}, collapsed.Options{Form: test.form, Period: test.period, Options: text.Options{Limits: small}})
			require.ErrorContains(t, err, test.says)
			if test.class != nil {
				require.ErrorIs(t, err, test.class)
			}
			assert.Less(t, len(err.Error()), 300)
			assert.Equal(t, pprofile.Profiles{}, pd)
			assert.Zero(t, stats.OTLPSamples)
		})
	}
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
		"mode alone":       {payload: "# mode: wall\na;b 5\n", want: map[string]int64{"samples/count": 5}, samples: 1},
		"header of nobody": {payload: "# interval: 100\na;b 5\n", want: map[string]int64{"samples/count": 5}, samples: 1},
		"frames like it":   {payload: "# a: b;c 5\n#a: b 2\n# a b: c 3\n", want: map[string]int64{"samples/count": 10}, samples: 3},
	} {
		pd, stats := decode(t, []byte(test.payload), pprof.Source{SampleTypes: test.types}, collapsed.Options{})
		assert.Equal(t, test.want, profiletest.ValueSums(pd), name)
		assert.Equal(t, test.samples, stats.OTLPSamples, name)
	}
	for payload, says := range map[string]string{
		"# austin: 3.7.0\n# mode: memory\na;b 5\n":  `line 2: malformed profile: the type of values is not known for the mode "memory" of Austin`,
		"# austin: 3.7.0\na;b 5\n# mode: wall\n":    "line 3: malformed profile: the type of values is not known",
		"# austin: 3.7.0\n# mode: full\na 5,0,-3\n": "line 2: malformed profile: the type of values is not known",
		"a;b 1.\n":   `the count "1." is not a whole number`,
		"a;b 12.5\n": `the count "12.5" is not a whole number`,
		"a;b .0\n":   `the count ".0" is not a whole number`,
		"a;b 1e3\n":  `the count "1e3" is not a whole number`,
	} {
		_, _, err := collapsed.Decode([]byte(payload), pprof.Source{}, collapsed.Options{})
		require.ErrorIs(t, err, text.ErrMalformed)
		require.ErrorContains(t, err, says)
	}
}

// TestLongName: a name has a limit of its own.
func TestLongName(t *testing.T) {
	longest := strings.Repeat("x", pprof.MaxStringBytes)
	decode(t, []byte(longest+" 1"), pprof.Source{}, collapsed.Options{})
	_, _, err := collapsed.Decode([]byte("a 1\nx"+longest+" 1"), pprof.Source{}, collapsed.Options{})
	require.ErrorIs(t, err, text.ErrTooLarge)
	require.ErrorContains(t, err, "line 2: profile exceeds a limit: bytes of a string: 1048577, the limit is 1048576")
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
