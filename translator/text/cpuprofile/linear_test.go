// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpuprofile_test

import (
	"testing"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/cpuprofile"
)

// TestLinearTime: the time grows linearly with the file, also if nodes and samples are sorted, which takes little more.
func TestLinearTime(t *testing.T) {
	const times = `{"startTime":1,"endTime":9,`
	const nodes = times + `"nodes":[{"id":1,"callFrame":{"functionName":"a"}},{"id":2,"parent":1,"callFrame":{"functionName":"\u0062"}}`
	for _, text := range []struct {
		head, tail string
		tokens     []string
	}{
		{"", "", []string{" ", "{", "[", `"`, "1", "null", `{"nodes":`, `"a",`, "\xff"}},
		{times + `"samples":[],"timeDeltas":[],"nodes":[`, `{}]}`, []string{"{},", `{"id":1,"callFrame":{}},`, "1,", "[],", " "}},
		{nodes + `,{"id":3,"callFrame":{},"children":[`, `1]}],"samples":[3],"timeDeltas":[1]}`, []string{"2,", "4,", " ", "[],"}},
		{nodes + `],"timeDeltas":[],"samples":[`, "1]}", []string{"1,", "2,", "3,", " "}},
		{nodes + `],"samples":[],"timeDeltas":[`, "1]}", []string{"1,", "-1,", "1.5e3,", " "}},
	} {
		profiletest.CheckLinear(t, text.head, text.tail, text.tokens, decodeOnly)
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
			decodeOnly([]byte(nodes + `],"samples":[` + string(samples) + `1],"timeDeltas":[99,` + string(deltas[:max(len(deltas)-1, 0)]) + "]}"))
		})
	}
}

func decodeOnly(payload []byte) {
	_, _, _ = cpuprofile.Decode(payload, pprof.Source{}, text.Options{Limits: pprof.Limits{LocationsPerSample: 100}})
}
