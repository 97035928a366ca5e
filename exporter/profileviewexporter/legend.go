// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"fmt"

	"github.com/google/pprof/profile"
)

// legend tells what a difference is of.
type legend struct {
	// Type is the sample type that is shown. Now and Before are the totals of both sides, Change is the difference with its
	// sign, and Percent that of Before.
	Type, Now, Before, Change, Percent string
	More, Less                         bool
}

// legendOf returns the totals of a difference in the sample type that a parameter chooses as google/pprof does. It is nil
// where there is none.
func legendOf(p *profile.Profile, sampleIndex string) *legend {
	index, err := p.SampleIndexByName(sampleIndex)
	if err != nil || index < 0 {
		return nil
	}
	now, before := int64(0), int64(0)
	for _, s := range p.Sample {
		if s.DiffBaseSample() {
			before -= s.Value[index]
		} else {
			now += s.Value[index]
		}
	}
	t := p.SampleType[index]
	change := now - before
	l := &legend{
		Type: t.Type, Now: amount(now, t.Unit), Before: amount(before, t.Unit), Change: signed(change, t.Unit),
		More: change > 0, Less: change < 0,
	}
	if before != 0 {
		l.Percent = fmt.Sprintf("%+.1f %%", 100*float64(change)/float64(before))
	}
	return l
}
