// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stacked returns a profile with a sample for each stack. Stacks are written from root to leaf, and values are 1, 10, 100 and
// so on. A stack that begins with - is a sample of the profile to compare with.
func stacked(stacks ...string) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "other"}, {Type: "samples"}}}
	functions, value := map[string]*profile.Function{}, int64(1)
	for _, stack := range stacks {
		name, isBase := strings.CutPrefix(stack, "-")
		s := &profile.Sample{Value: []int64{7, value}}
		if isBase {
			s.Value[1], s.Label = -value, map[string][]string{"pprof::base": {"true"}}
		}
		for frame := range strings.FieldsSeq(name) {
			if functions[frame] == nil {
				functions[frame] = &profile.Function{Name: frame}
			}
			s.Location = slices.Insert(s.Location, 0, &profile.Location{Line: []profile.Line{{Function: functions[frame]}}})
		}
		p.Sample = append(p.Sample, s)
		value *= 10
	}
	return p
}

func TestTable(t *testing.T) {
	p := stacked("a b", "a c", "a b c b", "-a b", "")
	p.Sample[0].Location[0].Line = append(p.Sample[0].Location[0].Line, profile.Line{}) // a line without a function
	rows, total := Table(p, 1)
	assert.Equal(t, Sum{10111, 1000}, total)
	assert.Equal(t, []Row{
		{Name: "a", Cum: Sum{111, 1000}},
		{Name: "b", Flat: Sum{101, 1000}, Cum: Sum{101, 1000}},
		{Name: "c", Flat: Sum{10, 0}, Cum: Sum{110, 0}},
	}, rows)
	assert.EqualValues(t, -899, rows[1].Cum.Change())
}

func TestNeighbours(t *testing.T) {
	p := stacked("a b", "a c", "a b c b", "-a b d", "b b", "x")
	own, callers, callees, found := Neighbours(p, 1, "b")
	assert.True(t, found)
	assert.Equal(t, Row{Name: "b", Flat: Sum{10101, 0}, Cum: Sum{10101, 1000}}, own)
	assert.Equal(t, []Row{
		{Name: NoCaller, Cum: Sum{10000, 0}}, {Name: "a", Cum: Sum{101, 1000}}, {Name: "b", Cum: Sum{10000, 0}}, {Name: "c", Cum: Sum{100, 0}},
	}, callers)
	assert.Equal(t, []Row{
		{Name: NoCallee, Cum: Sum{10101, 0}}, {Name: "b", Cum: Sum{10000, 0}}, {Name: "c", Cum: Sum{100, 0}}, {Name: "d", Cum: Sum{0, 1000}},
	}, callees)
	_, _, _, found = Neighbours(p, 1, "none")
	assert.False(t, found)
}
