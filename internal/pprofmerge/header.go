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
	// types are those of all pprofs, each with a column of values. order has the columns as they are written.
	types []valueType
	order []int
	// firstTypes is the number of types of the first pprof. stride is how many columns there is room for.
	firstTypes, stride int
	// sets tells which types are connected: those of one pprof are, and so are those that are connected with the same. Each set has the
	// number of its first column.
	sets []int

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

// addHeader adds all of the payload but its samples, and finds the columns of its values. extra are the bytes that the payload takes.
func (m *Merger) addHeader(silent []int, extra int64) error {
	h, w := &m.header, &m.payload.wire
	types := make([]valueType, len(w.SampleTypes))
	for i, t := range w.SampleTypes {
		types[i] = valueType{m.string(t.Type), m.string(t.Unit)}
	}
	periodType := valueType{m.string(w.PeriodType.Type), m.string(w.PeriodType.Unit)}
	if !h.any {
		h.any = true
		h.firstTypes = len(types)
		h.periodType, h.hasPeriodType = periodType, w.HasPeriodType
		h.dropFrames, h.keepFrames = m.string(w.DropFrames), m.string(w.KeepFrames)
		h.defaultType = m.string(w.DefaultSampleType)
	}
	if periodType != h.periodType {
		return fmt.Errorf("%w: the period is of %s, and of %s", ErrDiffers, m.typeText(h.periodType), m.typeText(periodType))
	}
	if err := m.findColumns(types, silent, extra); err != nil {
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
	h.docURL = cmp.Or(h.docURL, m.string(w.DocURL))
	return nil
}

// findColumns finds the value for each type of the sum, which gets the types that it does not have yet.
func (m *Merger) findColumns(types []valueType, silent []int, extra int64) error {
	if len(types) == 0 {
		return fmt.Errorf("%w: there is one without sample types", ErrDiffers)
	}
	h, p := &m.header, &m.payload
	p.columns = p.columns[:0]
	for range h.types {
		p.columns = append(p.columns, -1)
	}
	same := slices.Equal(types, h.types)
	for position, t := range types {
		column := position
		if !same {
			column = h.unusedColumn(t, p.columns)
		}
		if column < 0 {
			if other := h.otherUnit(t, types); other >= 0 {
				return fmt.Errorf("%w: %s, and %s", ErrDiffers, m.typeText(h.types[other]), m.typeText(t))
			}
			column = h.addType(t)
			p.columns = append(p.columns, -1)
		}
		p.columns[column] = position
	}
	h.connect(p.columns)
	for column, position := range p.columns {
		if slices.Contains(silent, position) {
			p.columns[column] = -1
		}
	}
	if err := m.makeRoom(extra); err != nil {
		return err
	}
	p.row = scratch.Zeroed(p.row, h.stride)
	return nil
}

// unusedColumn returns the first column of a type that has no position yet, or -1.
func (h *header) unusedColumn(t valueType, positions []int) int {
	for column, position := range positions {
		if position < 0 && h.types[column] == t {
			return column
		}
	}
	return -1
}

// otherUnit returns the column of a type with the same name and another unit that the pprof with these types does not have, or -1.
func (h *header) otherUnit(t valueType, types []valueType) int {
	return slices.IndexFunc(h.types, func(other valueType) bool {
		return other.name == t.name && other.unit != t.unit && !slices.Contains(types, other)
	})
}

// addType returns the column of a new type. The last type of the first pprof stays the last one, since tools show that.
func (h *header) addType(t valueType) (column int) {
	column = len(h.types)
	h.types = append(h.types, t)
	h.sets = append(h.sets, column)
	if len(h.order) < h.firstTypes {
		h.order = append(h.order, column)
	} else {
		h.order = slices.Insert(h.order, len(h.order)-1, column)
	}
	return column
}

// connect makes one set of the columns that have a position.
func (h *header) connect(positions []int) {
	first := len(h.types)
	joined := make([]bool, len(h.types))
	for column, position := range positions {
		if position >= 0 {
			joined[h.sets[column]] = true
			first = min(first, h.sets[column])
		}
	}
	for column, set := range h.sets {
		if joined[set] {
			h.sets[column] = first
		}
	}
}

// Comparable returns [ErrDiffers] if what was added does not measure the same: if pprofs have no sample type in common, not even by way of
// others. Which one was added first makes no difference.
func (m *Merger) Comparable() error {
	for column, set := range m.header.sets {
		if set != 0 {
			return fmt.Errorf("%w: they have no sample type in common: %s, and %s", ErrDiffers,
				m.typeText(m.header.types[0]), m.typeText(m.header.types[column]))
		}
	}
	return nil
}

// makeRoom makes room for the columns of all types. It doubles it, so that it does so seldom.
func (m *Merger) makeRoom(extra int64) error {
	h := &m.header
	if len(h.types) > maxSampleTypes {
		return fmt.Errorf("%w: they have more than %d sample types together", ErrDiffers, maxSampleTypes)
	}
	if len(h.types) <= h.stride {
		return nil
	}
	before := h.stride
	h.stride = min(max(len(h.types), 2*before), maxSampleTypes)
	if before == 0 {
		return nil // The first pprof.
	}
	more := m.payload.most(h.stride, m.CountLabels)
	more.values += m.rows.Len() * (h.stride - before)
	more.labelSums += len(m.labelSums) / (sumParts + before) * (h.stride - before)
	if err := m.grow(more, extra); err != nil {
		return err
	}
	m.values = widened(m.values, before, h.stride)
	m.labelSums = widened(m.labelSums, sumParts+before, sumParts+h.stride)
	m.totals = widened(m.totals, sumParts+before, sumParts+h.stride)
	return nil
}

// widened returns rows with more columns, whose values are 0.
func widened(rows []int64, before, after int) []int64 {
	if len(rows) == 0 {
		return nil
	}
	wide := make([]int64, len(rows)/before*after)
	for i := range len(rows) / before {
		copy(wide[i*after:], rows[i*before:][:before])
	}
	return wide
}

func (m *Merger) typeText(t valueType) string {
	return fmt.Sprintf("%.40q in %.40q", m.dict.StringAt(t.name), m.dict.StringAt(t.unit))
}
