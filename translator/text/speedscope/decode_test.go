// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package speedscope_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/texttest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/speedscope"
)

// file returns a file with two frames and these profiles.
func file(profiles ...string) []byte {
	return fmt.Appendf(nil, `{"profiles":[%s],"shared":{"frames":[{"name":"a"},{"name":"b"}]}}`, strings.Join(profiles, ","))
}

// sampled returns a profile with one stack for each weight.
func sampled(unit, weights string) string {
	stacks := make([]string, strings.Count(weights, ",")+1)
	for i := range stacks {
		stacks[i] = fmt.Sprintf("[%d]", i%2)
	}
	return fmt.Sprintf(`{"type":"sampled","name":"","unit":%q,"samples":[%s],"weights":[%s]}`, unit, strings.Join(stacks, ","), weights)
}

func evented(events string) string {
	return fmt.Sprintf(`{"type":"evented","name":"e","unit":"nanoseconds","startValue":0,"endValue":9,"events":[%s]}`, events)
}

// TestFieldsInAnyOrder: it does not matter whether frames or profiles come first.
func TestFieldsInAnyOrder(t *testing.T) {
	const shared, profiles = `"shared":{"frames":[{"name":"a"},{"name":"b"}]}`, `"profiles":[{"weights":[1,2],"samples":[[0],[0,1]],"unit":"none","type":"sampled"}]`
	first, _ := format.Valid(t, []byte("{"+shared+","+profiles+"}"), pprof.Source{})
	last, _ := format.Valid(t, []byte("{"+profiles+","+shared+"}"), pprof.Source{})
	assert.Equal(t, map[string]int64{"samples/count": 3}, texttest.ValueSums(first))
	assert.Equal(t, profiletest.Render(first), profiletest.Render(last))
}

// TestUnits: times become nanoseconds, without rounding errors for whole values.
func TestUnits(t *testing.T) {
	for name, test := range map[string]struct {
		profile string
		want    map[string]int64
	}{
		"nanoseconds":   {sampled("nanoseconds", "1,2"), map[string]int64{"wall/nanoseconds": 3}},
		"large":         {sampled("nanoseconds", "9007199254740993"), map[string]int64{"wall/nanoseconds": 9007199254740993}},
		"microseconds":  {sampled("microseconds", "1.5"), map[string]int64{"wall/nanoseconds": 1500}},
		"milliseconds":  {sampled("milliseconds", "1e-1"), map[string]int64{"wall/nanoseconds": 100_000}},
		"seconds":       {sampled("seconds", "0.01"), map[string]int64{"wall/nanoseconds": 10_000_000}},
		"bytes":         {sampled("bytes", "7,0"), map[string]int64{"space/bytes": 7}},
		"none":          {sampled("none", "2.0"), map[string]int64{"samples/count": 2}},
		"no frame open": {evented(`{"type":"O","at":1,"frame":0},{"type":"C","at":3,"frame":0},{"type":"O","at":6,"frame":1},{"type":"C","at":7,"frame":1}`), map[string]int64{"wall/nanoseconds": 3}},
	} {
		pd, _ := format.Valid(t, file(test.profile), pprof.Source{})
		assert.Equal(t, test.want, texttest.ValueSums(pd), name)
	}
	pd, _ := format.Valid(t, file(sampled("seconds", "1"), sampled("bytes", "1")), pprof.Source{SampleTypes: []pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
	assert.Equal(t, map[string]int64{"cpu/nanoseconds": 1e9, "space/bytes": 1}, texttest.ValueSums(pd), "the type of the source replaces one with the same unit")
}

// TestRefusals checks that errors have the position, the number and the limit.
func TestRefusals(t *testing.T) {
	limits := pprof.Limits{Samples: 3, LocationsPerSample: 2, InflatedBytes: 2000}
	frames := func(frames string) string {
		return `{"shared":{"frames":[` + frames + `]},"profiles":[` + sampled("none", "1") + `]}`
	}
	format.Refuses(t, limits, text.ErrMalformed, map[string][2]string{
		"no JSON":          {"folded;text 1", `byte 0: 'f', want {`},
		"the end":          {`{"profiles":[`, "byte 13: the message ends"},
		"more than that":   {string(file(sampled("none", "1"))) + "x", "want the end"},
		"another schema":   {`{"$schema":"https://example.com"}`, `$schema is "https://example.com"`},
		"no frames":        {`{"profiles":[]}`, `no field "shared"`},
		"no profiles":      {`{"shared":{}}`, `no field "profiles"`},
		"frames twice":     {`{"shared":{},"shared":{}}`, `the field "shared" twice`},
		"profiles twice":   {`{"profiles":[],"profiles":[]}`, `the field "profiles" twice`},
		"none at all":      {string(file()), "the file has no profile"},
		"deep":             {`{"x":` + strings.Repeat("[", 1000), "nested deeper than 100"},
		"unit":             {string(file(sampled("fortnights", "1"))), `profile 0: malformed profile: unit "fortnights" is not known`},
		"type":             {string(file(sampled("none", "1"), `{"type":"x","unit":"none"}`)), `profile 1: malformed profile: type "x"`},
		"no events":        {string(file(`{"type":"evented","unit":"none"}`)), "needs events"},
		"more weights":     {string(file(`{"type":"sampled","unit":"none","samples":[[0]],"weights":[1,2]}`)), "1 samples and 2 weights"},
		"fewer weights":    {string(file(`{"type":"sampled","unit":"none","samples":[[0],[1],[0]],"weights":[1]}`)), "3 samples and 1 weights"},
		"below 0":          {string(file(sampled("none", "1,-1"))), "weight 1 is below 0"},
		"a fraction":       {string(file(sampled("bytes", "1.5"))), `the number "1.5" must be whole`},
		"too large":        {string(file(sampled("seconds", "1e10"))), `the number "1e10" is too large`},
		"too large, whole": {string(file(sampled("seconds", "9223372037"))), "is too large"},
		"huge":             {string(file(sampled("none", "1e400"))), "is too large"},
		"no number":        {string(file(sampled("none", "true"))), "want a number"},
		"sum":              {string(file(sampled("none", "9223372036854775807,0,1"))), "profile 0: sample 2"},
		"frame":            {string(file(`{"type":"sampled","unit":"none","samples":[[0],[2]],"weights":[1,1]}`)), "sample 1: malformed profile: byte 62: frame 2 does not exist, there are 2"},
		"frame below 0":    {string(file(`{"type":"sampled","unit":"none","samples":[[-1]],"weights":[1]}`)), "frame -1 does not exist"},
		"times":            {string(file(`{"type":"sampled","unit":"seconds","startValue":2,"endValue":1,"samples":[],"weights":[]}`)), "endValue is below startValue"},
		"event backwards":  {string(file(evented(`{"type":"O","at":2,"frame":0},{"type":"C","at":1,"frame":0}`))), "profile 0: event 1: malformed profile: the event is earlier"},
		"other frame":      {string(file(evented(`{"type":"O","at":2,"frame":0},{"type":"C","at":3,"frame":1}`))), "event 1: malformed profile: frame 1 is closed"},
		"closed twice":     {string(file(evented(`{"type":"C","at":3,"frame":1}`))), "event 0"},
		"not closed":       {string(file(evented(`{"type":"O","at":2,"frame":1}`))), "frame 1 is not closed"},
		"no time":          {string(file(evented(`{"type":"O","frame":1}`))), "must have type, at and frame"},
		"event type":       {string(file(evented(`{"type":"X","at":1,"frame":1}`))), `type "X" is not known`},
		"too long between": {string(file(evented(`{"type":"O","at":-9223372036854775807,"frame":1},{"type":"C","at":9223372036854775807,"frame":1}`))), "too long after"},
		"escape":           {frames(`{"name":"\x"}`), "an escape that exists"},
	})
	format.Refuses(t, limits, text.ErrTooLarge, map[string][2]string{
		"many samples": {string(file(sampled("none", "1,1"), `{"type":"sampled","unit":"none","samples":[[0,1],[1,0]],"weights":[1,1]}`)), "profile 1: sample 1: profile exceeds a limit: samples: 4, the limit is 3"},
		"deep stack":   {string(file(`{"type":"sampled","unit":"none","samples":[[0,1,0]],"weights":[1]}`)), "locations of a sample: 3, the limit is 2"},
		"deep events":  {string(file(evented(strings.Repeat(`{"type":"O","at":1,"frame":0},`, 2) + `{"type":"O","at":1,"frame":0}`))), "event 2: profile exceeds a limit: locations of a sample: 3"},
		"too long":     {strings.Repeat(" ", 2001), "bytes of the payload: 2001, the limit is 2000"},
	})
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var format texttest.Decode = speedscope.Decode

func TestGolden(t *testing.T) {
	format.Golden(t, "speedscope.json", pprof.Source{ScopeName: "scope", ProfileName: "for those without a name"})
}

// TestRoundTrip: the first profile has open frames for 9.5 ms, the second for 300 ms.
func TestRoundTrip(t *testing.T) {
	format.RoundTrip(t, profiletest.Format(t, "speedscope.json"), map[string]int64{
		"wall/nanoseconds": 9_500_000 + 300_000_000, "space/bytes": 96, "samples/count": 3,
	})
}

func TestOriginalPayload(t *testing.T) {
	format.Original(t, string(file(sampled("none", "1"))), "speedscope")
}

func FuzzDecode(f *testing.F) {
	f.Add(profiletest.Format(f, "speedscope.json"))
	f.Add(file(sampled("none", "1,2"), evented(`{"type":"O","at":1,"frame":0},{"type":"C","at":3,"frame":0}`)))
	f.Fuzz(format.Fuzz)
}

// TestLinearTime: the time grows linearly with the file. Samples and events repeat the frames that are open, up to the limit of frames.
func TestLinearTime(t *testing.T) {
	const frames = `{"shared":{"frames":[{"name":"a"},{"name":"\u0062"}]},"profiles":[{"unit":"none","startValue":0,"endValue":9,`
	const events = `"type":"evented","events":[`
	const samples = `"type":"sampled","weights":[],"samples":[`
	for _, c := range []struct {
		head, tail string
		tokens     []string
	}{
		{"", "", []string{" ", "\n", "{", "[", `"`, `\`, "1", "-", "null", `{"a":`, `"a",`, `[1,`, "\xff"}},
		{`{"a":"`, `"}`, []string{`\\`, `\u00e9`, "a", `\"`, "\xff"}},
		{`{"shared":{"frames":[`, `{}]},"profiles":[]}`, []string{"{},", `{"name":"a"},`, "1,", "[],", " ", `{"name":"\n"},`}},
		{`{"profiles":[`, `{}],"shared":{"frames":[]}}`, []string{"{},", "[[]],", " ", `{"events":[]},`}},
		{frames + events, `{"type":"C","frame":0,"at":9}]}]}`, []string{
			`{"type":"O","frame":0,"at":1},`, `{"type":"C","frame":0,"at":1},`, `{"type":"\u004f","frame":1,"at":1.0},`, `{"at":1,"frame":0,"type":"X"},`, "{},", " ",
		}},
		{frames + samples, `[]]}]}`, []string{"[0,1],", "[],", "[1,1,1,1,1,1],", " ", "1,"}},
	} {
		format.Linear(t, c.head, c.tail, c.tokens)
	}
}

// BenchmarkFormat reads 20,000 samples.
func BenchmarkFormat(b *testing.B) {
	var payload bytes.Buffer
	payload.WriteString(`{"shared":{"frames":[{"name":"main"},{"name":"handle"},{"name":"checkout"}]},"profiles":[{"type":"sampled","unit":"none","samples":[[0]`)
	payload.WriteString(strings.Repeat(",[0,1,2]", 19_999) + `],"weights":[1` + strings.Repeat(",1", 19_999) + "]}]}")
	format.Benchmark(b, "speedscope", payload.Bytes())
}

// TestListsOfOtherType: samples and weights must be arrays, also in a profile of events, which does not need them.
func TestListsOfOtherType(t *testing.T) {
	profile := func(list string) []byte {
		return file(`{"type":"evented","unit":"nanoseconds",` + list + `,"events":[{"type":"O","at":0,"frame":0},{"type":"C","at":5,"frame":0}]}`)
	}
	for _, list := range []string{`"samples":5`, `"weights":{"a":1}`} {
		_, _, err := speedscope.Decode(profile(list), pprof.Source{}, text.Options{})
		require.ErrorIs(t, err, text.ErrMalformed, list)
		require.ErrorContains(t, err, "want [", list)
	}
	_, _, err := speedscope.Decode(profile(`"samples":null`), pprof.Source{}, text.Options{})
	require.NoError(t, err)
}
