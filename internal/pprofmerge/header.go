// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofmerge

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/otelpprof/otelpprof/internal/scratch"
)

// ErrDiffers says that pprofs measure what cannot be added up.
var ErrDiffers = errors.New("the profiles do not measure the same")

// header is all of the sum but its samples. Strings are those of the dictionary.
type header struct {
	any bool
	// types are those of the first pprof; gone tells which of them another one did not have.
	types []valueType
	gone  []bool

	periodType             valueType
	hasPeriodType          bool
	period, time, duration int64
	comments               []int32
	commented              map[int32]struct{}
	defaultType, docURL    int32
	dropFrames, keepFrames int32
}

type valueType struct{ name, unit int32 }

func newHeader() header { return header{commented: map[int32]struct{}{}} }

// addHeader adds all of the payload but its samples, and finds the columns of its values.
func (m *Merger) addHeader(silent []int) error {
	h, w := &m.header, &m.payload.wire
	types := make([]valueType, len(w.SampleTypes))
	for i, t := range w.SampleTypes {
		types[i] = valueType{m.string(t.Type), m.string(t.Unit)}
	}
	periodType := valueType{m.string(w.PeriodType.Type), m.string(w.PeriodType.Unit)}
	if !h.any {
		h.any = true
		h.types, h.gone = types, make([]bool, len(types))
		h.periodType, h.hasPeriodType = periodType, w.HasPeriodType
		h.dropFrames, h.keepFrames = m.string(w.DropFrames), m.string(w.KeepFrames)
	}
	if periodType != h.periodType {
		return fmt.Errorf("%w: the period is of %s, and of %s", ErrDiffers, m.typeText(h.periodType), m.typeText(periodType))
	}
	if err := m.findColumns(types, silent); err != nil {
		return err
	}
	if w.TimeNanos != 0 && (h.time == 0 || w.TimeNanos < h.time) {
		h.time = w.TimeNanos
	}
	h.duration += w.DurationNanos
	if h.period == 0 || h.period < w.Period {
		h.period = w.Period
	}
	for _, c := range w.Comments {
		comment := m.string(c)
		if _, found := h.commented[comment]; !found {
			h.commented[comment] = struct{}{}
			h.comments = append(h.comments, comment)
		}
	}
	h.defaultType = cmp.Or(h.defaultType, m.string(w.DefaultSampleType))
	h.docURL = cmp.Or(h.docURL, m.string(w.DocURL))
	return nil
}

// findColumns finds the value for each type of the sum. A type that one of the pprofs does not have is none of the sum.
func (m *Merger) findColumns(types []valueType, silent []int) error {
	h, p := &m.header, &m.payload
	p.columns = p.columns[:0]
	same := slices.Equal(types, h.types)
	left := 0
	for i, t := range h.types {
		column := i
		if !same {
			column = slices.IndexFunc(types, func(other valueType) bool { return other.name == t.name })
		}
		switch {
		case column < 0:
			h.gone[i] = true
		case types[column] != t:
			return fmt.Errorf("%w: %s, and %s", ErrDiffers, m.typeText(t), m.typeText(types[column]))
		}
		if !h.gone[i] {
			left++
		}
		if slices.Contains(silent, column) {
			column = -1
		}
		p.columns = append(p.columns, column)
	}
	if left == 0 {
		return fmt.Errorf("%w: they have no sample type in common", ErrDiffers)
	}
	p.row = scratch.Zeroed(p.row, len(h.types))
	return nil
}

func (m *Merger) typeText(t valueType) string {
	return fmt.Sprintf("%.40q in %.40q", m.dict.StringAt(t.name), m.dict.StringAt(t.unit))
}
