// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpuprofile_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/texttest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/cpuprofile"
)

func decode(t *testing.T, payload []byte, src pprof.Source) (pprofile.Profiles, pprofile.Profile) {
	t.Helper()
	pd, _ := format.Valid(t, payload, src)
	return pd, pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
}

// TestRoundTrip encodes the profile as a pprof. google/pprof must get the time from the first sample to the end.
func TestRoundTrip(t *testing.T) {
	var file struct {
		StartTime, EndTime int64
		TimeDeltas         []int64
	}
	content := profiletest.Format(t, "node.cpuprofile")
	require.NoError(t, json.Unmarshal(content, &file))
	want := map[string]int64{"cpu/nanoseconds": (file.EndTime - file.StartTime - file.TimeDeltas[0]) * 1000}

	format.RoundTrip(t, content, want)
	_, profile := decode(t, content, pprof.Source{})
	assert.EqualValues(t, (file.EndTime-file.StartTime)*1000, profile.DurationNano())
	assert.Zero(t, profile.Time(), "the time counts from the boot")
}

// tree has the nodes of most tests: (root) calls main, which calls (anonymous); and (root) calls (idle).
const tree = `{"id":1,"callFrame":{"functionName":"(root)","url":"","lineNumber":-1,"columnNumber":-1},"children":[2,4]},` +
	`{"id":2,"callFrame":{"functionName":"main","url":"file:///a.js","lineNumber":0,"columnNumber":9},"children":[3]},` +
	`{"id":3,"callFrame":{"functionName":"","url":"file:///a.js","lineNumber":6,"columnNumber":0},"hitCount":1},` +
	`{"id":4,"callFrame":{"functionName":"(idle)","lineNumber":-1}}`

// file returns a file from 1000 to 1100 microseconds.
func file(nodes, samples, deltas string) []byte {
	return fmt.Appendf(nil, `{"nodes":[%s],"startTime":1000,"endTime":1100,"samples":%s,"timeDeltas":%s}`, nodes, samples, deltas)
}

// stacks returns the value of each stack. Frames have their line and column.
func stacks(pd pprofile.Profiles, profile pprofile.Profile) map[string]int64 {
	dict := pd.Dictionary()
	all := map[string]int64{}
	for _, sample := range profile.Samples().All() {
		var frames []string
		for _, location := range dict.StackTable().At(int(sample.StackIndex())).LocationIndices().All() {
			line := dict.LocationTable().At(int(location)).Lines().At(0)
			function := dict.FunctionTable().At(int(line.FunctionIndex()))
			frames = append(frames, fmt.Sprintf("%s %s:%d:%d", dict.StringTable().At(int(function.NameStrindex())),
				dict.StringTable().At(int(function.FilenameStrindex())), line.Line(), line.Column()))
		}
		for _, value := range sample.Values().All() {
			all[strings.Join(frames, ", ")] += value
		}
	}
	return all
}

// The stacks of the nodes of tree.
const (
	mainStack      = "main file:///a.js:1:10"
	anonymousStack = "(anonymous) file:///a.js:7:1, " + mainStack
	idleStack      = "(idle) :0:0"
)

// TestFrames: functions without a name, numbers of lines and columns, and the frames in parentheses.
func TestFrames(t *testing.T) {
	pd, profile := decode(t, file(tree, "[1,2,3,4,3]", "[10,10,20,10,5]"), pprof.Source{})
	assert.Equal(t, map[string]int64{"(root) :0:0": 10_000, mainStack: 20_000, anonymousStack: 10_000 + 45_000, idleStack: 5_000}, stacks(pd, profile))
	pd, _ = decode(t, file(tree, "[2]", "[0]"), pprof.Source{SampleTypes: []pprof.ValueType{{Type: "wall", Unit: "nanoseconds"}}})
	assert.Equal(t, map[string]int64{"wall/nanoseconds": 100_000}, texttest.ValueSums(pd))
	pd, _ = decode(t, file(tree, "[2]", "[0]"), pprof.Source{SampleTypes: []pprof.ValueType{{Type: "samples", Unit: "count"}}})
	assert.Equal(t, map[string]int64{"cpu/nanoseconds": 100_000}, texttest.ValueSums(pd), "a type with another unit does not fit")
	pd, _ = decode(t, file(tree, "[]", "[]"), pprof.Source{})
	assert.Zero(t, pd.SampleCount())
}

// TestForms: fields come in any order, and nodes name their children or their parent. The profile is always the same.
func TestForms(t *testing.T) {
	const parents = `{"parent":2,"id":3,"callFrame":{"lineNumber":6,"columnNumber":0,"url":"file:///a.js"}},` +
		`{"id":1,"callFrame":{"functionName": "(root)"}},{"id":4,"parent":1,"callFrame":{"functionName":"\u0028idle)"}},` +
		`{"id":2,"parent":1,"children":[3,3],"callFrame":{"url":"file:///a.js","lineNumber":0,"columnNumber":9,"functionName":"main"}}`
	far := strings.NewReplacer(`"id":1,`, `"id":-9223372036854775000,`, `"id":4`, `"id":9223372036854775000`, `"parent":1`, `"parent":-9223372036854775000`)
	for name, payload := range map[string]string{
		"as V8 writes it": string(file(tree, "[2,3,4]", "[10,20,30]")),
		"by parent":       string(file(parents, "[2,3,4]", "[10,20,30]")),
		"nodes last":      `{"timeDeltas":[10,20,3e1],"samples":[2,3,4],"endTime":1100.0,"x":{},"startTime":1000,"nodes":[` + parents + `]}`,
		"ids far apart":   string(file(far.Replace(parents), "[2,3,9223372036854775000]", "[10,20,30]")),
	} {
		pd, profile := decode(t, []byte(payload), pprof.Source{})
		assert.Equal(t, map[string]int64{mainStack: 20_000, anonymousStack: 30_000, idleStack: 40_000}, stacks(pd, profile), name)
		assert.EqualValues(t, 100_000, profile.DurationNano(), name)
	}
}

// TestNegativeTimeDeltas: samples that are not in the order of their times are put in order. The values are never more than the time that
// passed.
func TestNegativeTimeDeltas(t *testing.T) {
	for name, test := range map[string]struct {
		samples, deltas string
		want            map[string]int64
		duration        int
	}{
		"between":    {"[2,3,4]", "[10,30,-10]", map[string]int64{mainStack: 20_000, idleStack: 10_000, anonymousStack: 60_000}, 100_000},
		"first":      {"[2,3]", "[-10,20]", map[string]int64{mainStack: 20_000, anonymousStack: 90_000}, 110_000},
		"equal":      {"[2,3,4]", "[10,5,-5]", map[string]int64{mainStack: 0, idleStack: 5_000, anonymousStack: 85_000}, 100_000},
		"end before": {"[2,3]", "[10,150]", map[string]int64{mainStack: 150_000, anonymousStack: 0}, 160_000},
	} {
		pd, profile := decode(t, file(tree, test.samples, test.deltas), pprof.Source{})
		assert.Equal(t, test.want, stacks(pd, profile), name)
		assert.EqualValues(t, test.duration, profile.DurationNano(), name)
	}
}

// TestWallClock: times after the year 2000 become the time of the profile and of its samples.
func TestWallClock(t *testing.T) {
	const micros = int64(1_795_369_073_000_000)
	payload := fmt.Appendf(nil, `{"nodes":[%s],"startTime":%d,"endTime":%d,"samples":[2,2,3],"timeDeltas":[10,20,30]}`, tree, micros, micros+60)
	pd, profile := decode(t, payload, pprof.Source{})
	assert.EqualValues(t, micros*1000, profile.Time())
	assert.EqualValues(t, 60_001, profile.DurationNano(), "the last sample is at the end")
	assert.Equal(t, map[string]int64{mainStack: 50_000, anonymousStack: 0}, stacks(pd, profile))
	assert.Equal(t, []uint64{uint64(micros+10) * 1000, uint64(micros+30) * 1000}, profile.Samples().At(0).TimestampsUnixNano().AsRaw())
}

// TestRefusals checks that errors have the position, the number and the limit.
func TestRefusals(t *testing.T) {
	limits := pprof.Limits{Samples: 2, LocationsPerSample: 2, InflatedBytes: 2000}
	deep := `{"id":1,"callFrame":{},"children":[2]},{"id":2,"callFrame":{},"children":[3]},{"id":3,"callFrame":{}}`
	format.Refuses(t, limits, text.ErrMalformed, map[string][2]string{
		"no JSON":         {"a;b 1", `byte 0: 'a', want {`},
		"the end":         {`{"nodes":[`, "byte 10: the message ends"},
		"more than that":  {string(file(tree, "[]", "[]")) + "x", "want the end"},
		"no nodes":        {`{"samples":[]}`, `the file has no field "nodes"`},
		"no endTime":      {`{"nodes":[],"samples":[],"timeDeltas":[],"startTime":1}`, `no field "endTime"`},
		"nodes twice":     {`{"nodes":[],"nodes":[]}`, `the field "nodes" twice`},
		"no array":        {`{"nodes":{},"samples":[],"timeDeltas":[],"startTime":1,"endTime":2}`, "want ["},
		"no id":           {string(file(`{"id":1,"callFrame":{}},{"callFrame":{}}`, "[]", "[]")), "node 1: malformed profile: the node must have id and callFrame"},
		"no callFrame":    {string(file(`{"id":1}`, "[]", "[]")), "must have id and callFrame"},
		"equal ids":       {string(file(tree+`,{"id":3,"callFrame":{}}`, "[]", "[]")), "two nodes have the id 3"},
		"unknown child":   {string(file(`{"id":1,"callFrame":{},"children":[7]}`, "[]", "[]")), "the children of node 1: malformed profile: node 7 does not exist"},
		"unknown parent":  {string(file(`{"id":1,"callFrame":{},"parent":7}`, "[]", "[]")), "the parent of node 1: malformed profile: node 7 does not exist"},
		"two parents":     {string(file(tree+`,{"id":5,"callFrame":{},"children":[3]}`, "[]", "[]")), "node 3 has the parents 2 and 5"},
		"another parent":  {string(file(tree+`,{"id":5,"parent":2,"callFrame":{}},{"id":6,"callFrame":{},"children":[5]}`, "[]", "[]")), "node 5 has the parents 2 and 6"},
		"its own parent":  {string(file(`{"id":1,"callFrame":{},"parent":1}`, "[]", "[]")), "node 1 is its own ancestor"},
		"cycle":           {string(file(`{"id":1,"callFrame":{},"children":[2]},{"id":2,"callFrame":{},"children":[3]},{"id":3,"callFrame":{},"children":[2]}`, "[]", "[]")), "node 2 has the parents 1 and 3"},
		"longer cycle":    {string(file(`{"id":1,"callFrame":{},"parent":2},{"id":2,"callFrame":{},"parent":3},{"id":3,"callFrame":{},"parent":2}`, "[]", "[]")), "node 2 is its own ancestor"},
		"unknown sample":  {string(file(tree, "[2,9]", "[1,1]")), "sample 1: malformed profile: node 9 does not exist"},
		"no number":       {string(file(tree, `[2,"3"]`, "[1,1]")), "sample 1: malformed profile: byte"},
		"more samples":    {string(file(tree, "[2,3]", "[1]")), "there are 2 samples and 1 timeDeltas"},
		"times":           {`{"nodes":[],"samples":[],"timeDeltas":[],"startTime":2,"endTime":1}`, "endTime is below startTime"},
		"start below 0":   {`{"nodes":[],"samples":[],"timeDeltas":[],"startTime":-2,"endTime":1}`, "startTime: malformed profile: byte 55: the time is below 0"},
		"sample below 0":  {string(file(tree, "[2,3]", "[0,-1001]")), "timeDelta 1: malformed profile"},
		"sum of deltas":   {string(file(tree, "[2,3]", "[0,9223372036854775]")), "timeDelta 1: malformed profile"},
		"delta too large": {string(file(tree, "[2]", "[1e17]")), `the number "1e17" is too large`},
		"line too large":  {string(file(`{"id":1,"callFrame":{"lineNumber":9223372036854775807}}`, "[1]", "[1]")), "sample 0: node 1: malformed profile: byte 63: the number 9223372036854775807 is too large"},
	})
	format.Refuses(t, limits, text.ErrTooLarge, map[string][2]string{
		"deep stack":   {string(file(deep, "[2,3]", "[1,1]")), "sample 1: profile exceeds a limit: locations of a sample: 3, the limit is 2"},
		"many samples": {string(file(tree, "[1,2,4]", "[1,1,1]")), "sample 2: profile exceeds a limit: samples: 3, the limit is 2"},
		"too long":     {strings.Repeat(" ", 2001), "bytes of the payload: 2001, the limit is 2000"},
	})
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var format texttest.Decode = cpuprofile.Decode

// TestGolden has a profile of node --cpu-prof.
func TestGolden(t *testing.T) {
	format.Golden(t, "node.cpuprofile", pprof.Source{ScopeName: "scope", ProfileName: "shop"})
}

func TestOriginalPayload(t *testing.T) {
	format.Original(t, string(file(tree, "[2]", "[1]")), "cpuprofile")
}

func FuzzDecode(f *testing.F) {
	f.Add(profiletest.Format(f, "node.cpuprofile"))
	f.Add(file(tree, "[2,3,4]", "[1,-2,3]"))
	f.Add([]byte(`{"timeDeltas":[1],"samples":[2],"endTime":1795369073000002,"startTime":1795369073000000,"nodes":[{"id":2,"parent":1,"callFrame":{}},{"id":1,"callFrame":{}}]}`))
	f.Fuzz(format.Fuzz)
}

// TestLinearTime: the time grows linearly with the file, also if nodes and samples are sorted, which takes little more.
func TestLinearTime(t *testing.T) {
	const times = `{"startTime":1,"endTime":9,`
	const nodes = times + `"nodes":[{"id":1,"callFrame":{"functionName":"a"}},{"id":2,"parent":1,"callFrame":{"functionName":"\u0062"}}`
	for _, c := range []struct {
		head, tail string
		tokens     []string
	}{
		{"", "", []string{" ", "{", "[", `"`, "1", "null", `{"nodes":`, `"a",`, "\xff"}},
		{times + `"samples":[],"timeDeltas":[],"nodes":[`, `{}]}`, []string{"{},", `{"id":1,"callFrame":{}},`, "1,", "[],", " "}},
		{nodes + `,{"id":3,"callFrame":{},"children":[`, `1]}],"samples":[3],"timeDeltas":[1]}`, []string{"2,", "4,", " ", "[],"}},
		{nodes + `],"timeDeltas":[],"samples":[`, "1]}", []string{"1,", "2,", "3,", " "}},
		{nodes + `],"samples":[],"timeDeltas":[`, "1]}", []string{"1,", "-1,", "1.5e3,", " "}},
	} {
		format.Linear(t, c.head, c.tail, c.tokens)
	}
	// Samples need as many time deltas.
	for _, deltas := range []string{"5,-3,", "0,", "9,1,-8,"} {
		profiletest.CheckLinear(t, "", "", []string{deltas}, func(deltas []byte) {
			samples := make([]byte, 0, len(deltas))
			for _, c := range deltas {
				if c == ',' {
					samples = append(samples, "1,"...)
				}
			}
			payload := []byte(nodes + `],"samples":[` + string(samples) + `1],"timeDeltas":[99,` + string(deltas[:max(len(deltas)-1, 0)]) + "]}")
			_, _, _ = format(payload, pprof.Source{}, text.Options{})
		})
	}
}

// BenchmarkFormat reads 20,000 samples.
func BenchmarkFormat(b *testing.B) {
	var nodes strings.Builder
	for id := 2; id < 500; id++ {
		fmt.Fprintf(&nodes, `,{"id":%d,"parent":%d,"callFrame":{"functionName":"f%d","url":"file:///shop.js","lineNumber":%d,"columnNumber":9}}`, id, id/2, id, id)
	}
	payload := file(`{"id":1,"callFrame":{"functionName":"(root)"}}`+nodes.String(),
		"[300"+strings.Repeat(",400", 19_999)+"]", "[1"+strings.Repeat(",1250", 19_999)+"]")
	format.Benchmark(b, "cpuprofile", payload)
}
