// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/otelpprof/otelpprof/internal/pprofmerge"
)

// ErrNoStartLines is the error for a profile whose functions have no start lines, which go build needs.
var ErrNoStartLines = errors.New("no function of the CPU profiles has a start line; go build -pgo needs them. Go programs of 1.20 and later send them")

// ReadCosts are the measured memory costs of google/pprof to read and write a profile.
var ReadCosts = pprofmerge.Costs{Sample: 700, Value: 60, Frame: 60, Line: 1000, LineByte: 8}

// PGOView returns the view for PGO: no labels, and the depth frames at the leaf of each stack.
func PGOView(depth int, maxCost int64) *pprofmerge.View {
	return &pprofmerge.View{
		LeafFrames: depth, StringBytes: math.MaxInt32, MaxCost: maxCost,
		Costs: ReadCosts,
	}
}

// PGO returns a profile for go build -pgo of at most limit bytes. It leaves out the lightest samples to fit.
func PGO(p *profile.Profile, limit int) ([]byte, error) {
	if !hasStartLines(p) {
		return nil, ErrNoStartLines
	}
	keepFullest(p)
	last := len(p.SampleType) - 1
	slices.SortStableFunc(p.Sample, func(a, b *profile.Sample) int { return cmp.Compare(b.Value[last], a.Value[last]) })
	for {
		var out bytes.Buffer
		if err := p.Compact().Write(&out); err != nil {
			return nil, err
		}
		if out.Len() <= limit || len(p.Sample) == 0 {
			return out.Bytes(), nil
		}
		fraction := 0.9 * float64(limit) / float64(out.Len())
		p.Sample = p.Sample[:int(fraction*float64(len(p.Sample)))]
	}
}

// pgoTypes are the sample types that go build accepts. It uses the first one that a profile has.
var pgoTypes = []profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}

// keepFullest leaves only one sample type if some of the profiles that were merged lacked the others: go build would ignore their samples.
func keepFullest(p *profile.Profile) {
	column, fullest, emptiest := -1, 0, len(p.Sample)
	for i, t := range p.SampleType {
		if !slices.Contains(pgoTypes, profile.ValueType{Type: t.Type, Unit: t.Unit}) {
			continue
		}
		filled := 0
		for _, s := range p.Sample {
			if s.Value[i] != 0 {
				filled++
			}
		}
		emptiest = min(emptiest, filled)
		if column < 0 || filled > fullest {
			column, fullest = i, filled
		}
	}
	if column < 0 || emptiest == fullest {
		return
	}
	p.SampleType, p.DefaultSampleType = p.SampleType[column:column+1], ""
	for _, s := range p.Sample {
		s.Value = s.Value[column : column+1]
	}
}

func hasStartLines(p *profile.Profile) bool {
	return slices.ContainsFunc(p.Function, func(f *profile.Function) bool { return f.StartLine > 0 })
}
