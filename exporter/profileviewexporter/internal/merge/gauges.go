// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
)

// gauge is a sample type of an instance whose values are a state at one time.
type gauge struct {
	instance         recent.Instance
	sampleType, unit string
}

// gauges has the time of the latest entry with each gauge. An entry can lack a type that an earlier one has, for example if a
// batch was split. All parts of one capture have the same time, so all of them count.
type gauges map[gauge]time.Time

func gaugesOf(entries []*recent.Entry) gauges {
	latest := gauges{}
	for _, e := range entries {
		if len(e.Gauges) == 0 {
			continue
		}
		instance := e.Instance()
		for _, g := range e.Gauges {
			of := gauge{instance, g.Type, g.Unit}
			if end, known := latest[of]; !known || e.End.After(end) {
				latest[of] = e.End
			}
		}
	}
	return latest
}

// silent returns the positions of the values of an entry that do not count, since a later entry has the same gauge.
func (l gauges) silent(e *recent.Entry) (positions []int) {
	if len(e.Gauges) == 0 {
		return nil
	}
	instance := e.Instance()
	for _, g := range e.Gauges {
		if e.End.Before(l[gauge{instance, g.Type, g.Unit}]) {
			positions = append(positions, g.Position)
		}
	}
	return positions
}
