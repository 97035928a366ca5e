// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/google/pprof/profile"
)

// ErrNoStartLines says that a profile does not know where its functions begin, without which go build takes none.
var ErrNoStartLines = errors.New("no function of the CPU profiles has a start line; go build -pgo needs them. Go programs of 1.20 and later send them")

// PGO writes the profile that go build -pgo wants: no labels, of each stack the depth frames at the leaf, and no more than
// limit bytes, for which the lightest samples go.
func PGO(p *profile.Profile, depth, limit int) ([]byte, error) {
	if !hasStartLines(p) {
		return nil, ErrNoStartLines
	}
	for _, s := range p.Sample {
		s.Label, s.NumLabel, s.NumUnit = nil, nil, nil
		if len(s.Location) > depth {
			s.Location = s.Location[:depth]
		}
	}
	p.Comments = nil
	merged, err := profile.Merge([]*profile.Profile{p}) // adds up the stacks that are equal now
	if err != nil {
		return nil, err
	}
	last := len(merged.SampleType) - 1
	slices.SortStableFunc(merged.Sample, func(a, b *profile.Sample) int { return cmp.Compare(b.Value[last], a.Value[last]) })
	for {
		var out bytes.Buffer
		if err := merged.Compact().Write(&out); err != nil {
			return nil, err
		}
		if out.Len() <= limit || len(merged.Sample) == 0 {
			return out.Bytes(), nil
		}
		fraction := 0.9 * float64(limit) / float64(out.Len())
		merged.Sample = merged.Sample[:int(fraction*float64(len(merged.Sample)))]
	}
}

func hasStartLines(p *profile.Profile) bool {
	return slices.ContainsFunc(p.Function, func(f *profile.Function) bool { return f.StartLine > 0 })
}
