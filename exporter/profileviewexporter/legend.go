// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"fmt"

	"github.com/google/pprof/profile"
)

// legend describes a difference.
type legend struct {
	// Type is the sample type. Now and Before are the totals of both sides, Change is the signed difference, and Percent is
	// Change in percent of Before.
	Type, Now, Before, Change, Percent string
	More, Less                         bool
}

// legendOf returns the totals of a difference for the sample type that google/pprof selects by the parameter. It returns nil if
// there is no such type.
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
