// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpuprofile_test

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/texttest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/cpuprofile"
)

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
