// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package merge merges profiles of a store into one pprof.
package merge // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/merge"

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/query"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/symbols"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// ErrDiffers is the error for profiles that cannot be one pprof.
var ErrDiffers = errors.New("the profiles measure different things")

// Merger merges samples. Equal samples become one.
type Merger struct {
	// LeafFrames is the number of locations that stacks keep, the innermost, without labels. 0 means all.
	LeafFrames int

	work    *meter.Meter
	table   *symbols.Table
	samples symbols.Set[sample]
	// values are the values of the samples, by sample type.
	types  []pprof.SampleType
	values [][]int64
	head   *head
}

type sample struct{ stack, labels uint32 }

// head has the fields of the merged profiles that are not samples.
type head struct {
	store.Head
	begin, duration int64
	// columns are the sample types that all profiles have.
	columns []pprof.SampleType
}

// New returns a merger, whose memory work counts.
func New(work *meter.Meter) *Merger {
	return &Merger{work: work, table: symbols.New()}
}

// Add adds a selection. The error is [ErrDiffers], that of work, or that of the selection.
func (m *Merger) Add(s *query.Selection) error {
	for i := range s.Parts {
		part := &s.Parts[i]
		for _, p := range part.Profiles {
			if err := m.addHead(p.Profile); err != nil {
				return err
			}
			for _, column := range p.Wanted {
				m.column(p.Profile.Columns[column].SampleType)
			}
		}
		if err := m.addPart(part); err != nil {
			return err
		}
	}
	return s.Err()
}

// column returns the position of a sample type.
func (m *Merger) column(t pprof.SampleType) int {
	at := slices.Index(m.types, t)
	if at < 0 {
		at = len(m.types)
		m.types = append(m.types, t)
		m.values = append(m.values, make([]int64, len(m.samples.Rows)))
	}
	return at
}

// addHead merges the head of a profile.
func (m *Merger) addHead(p *store.Profile) error {
	types := make([]pprof.SampleType, len(p.Columns))
	for i := range p.Columns {
		types[i] = p.Columns[i].SampleType
	}
	begin, duration := p.Begin.UnixNano(), int64(p.End.Sub(p.Begin))
	if m.head == nil {
		m.head = &head{Head: *p.Head, begin: begin, duration: duration, columns: types}
		m.head.Comments = nil
		m.addComments(p.Comments)
		return nil
	}
	h := m.head
	if h.PeriodType != p.PeriodType {
		return fmt.Errorf("%w: one has the period type %s/%s, another %s/%s", ErrDiffers,
			h.PeriodType.Name, h.PeriodType.Unit, p.PeriodType.Name, p.PeriodType.Unit)
	}
	h.columns = slices.DeleteFunc(h.columns, func(t pprof.SampleType) bool { return !slices.Contains(types, t) })
	if len(h.columns) == 0 && len(types) > 0 {
		return fmt.Errorf("%w: they have no sample type in common", ErrDiffers)
	}
	h.begin = min(h.begin, begin)
	h.duration += duration
	h.Period = max(h.Period, p.Period)
	m.addComments(p.Comments)
	return nil
}

func (m *Merger) addComments(comments []string) {
	for _, c := range comments {
		if len(m.head.Comments) < maxComments && !slices.Contains(m.head.Comments, c) {
			m.head.Comments = append(m.head.Comments, c)
		}
	}
}

// maxComments limits the comments of the result. More have no use, and each is compared with all others.
const maxComments = 1000

// IsEmpty returns whether there is no sample.
func (m *Merger) IsEmpty() bool { return len(m.samples.Rows) == 0 }

// ErrNoStartLines is the error for a profile whose functions have no start lines, which go build needs.
var ErrNoStartLines = errors.New("no function of the CPU profiles has a start line; go build -pgo needs them. Go programs of 1.20 and later send them")

// pgoTypes are the sample types that go build accepts. It uses the first one that a profile has.
var pgoTypes = []pprof.SampleType{{Name: "samples", Unit: "count"}, {Name: "cpu", Unit: "nanoseconds"}}

// PGO returns a profile for go build -pgo, compressed by compress, of at most limit bytes. It leaves out the lightest samples to fit.
func (m *Merger) PGO(limit int, compress func(pprof []byte) ([]byte, error)) ([]byte, error) {
	if !m.hasStartLines() {
		return nil, ErrNoStartLines
	}
	types := m.fullest()
	order := make([]int, len(m.samples.Rows))
	for i := range order {
		order[i] = i
	}
	last := m.column(types[len(types)-1])
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(m.values[last][b], m.values[last][a]) })
	for {
		out, err := m.write(order, types)
		if err == nil {
			out, err = compress(out)
		}
		if err != nil || len(out) <= limit || len(order) == 0 {
			return out, err
		}
		order = order[:int(0.9*float64(limit)/float64(len(out))*float64(len(order)))]
	}
}

// fullest returns the sample types to write. If some of the profiles that were merged lack one, it is only the type that most samples
// have: go build would ignore the others.
func (m *Merger) fullest() []pprof.SampleType {
	best, most, least := -1, 0, len(m.samples.Rows)
	for i, t := range m.types {
		if !slices.Contains(pgoTypes, t) {
			continue
		}
		filled := 0
		for _, v := range m.values[i] {
			if v != 0 {
				filled++
			}
		}
		least = min(least, filled)
		if best < 0 || filled > most {
			best, most = i, filled
		}
	}
	if best < 0 || least == most {
		return m.types
	}
	return m.types[best : best+1]
}

func (m *Merger) hasStartLines() bool {
	for _, f := range m.table.Functions.Rows {
		if f.StartLine > 0 {
			return true
		}
	}
	return false
}
