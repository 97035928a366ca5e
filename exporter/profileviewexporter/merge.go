// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// merger merges the samples of a selection into one pprof. Equal samples become one.
type merger struct {
	// leafFrames is the number of locations that stacks keep, the innermost, without labels. 0 means all.
	leafFrames int

	work    *meter.Meter
	table   *store.Table
	samples store.Set[mergedSample]
	// values are the values of the samples, by sample type. columns has the positions of the types.
	types   []pprof.SampleType
	columns map[pprof.SampleType]int
	values  [][]int64

	// head, begin and duration are of all profiles. heads are those that were merged into head, and comments are its comments.
	head            store.Head
	begin, duration int64
	heads           map[*store.Head]bool
	comments        map[string]bool
	// common is the number of heads that have a sample type, without those after one that lacks it.
	common map[pprof.SampleType]int
}

type mergedSample struct{ stack, labels uint32 }

// The memory of a head and of a sample type while profiles are merged.
const (
	headBytes = 64
	typeBytes = 256
)

// merge merges a selection.
func (c *call) merge(s *selection, leafFrames int) (*merger, error) {
	if err := s.keepLatest(c.work, oneStep); err != nil {
		return nil, err
	}
	m := &merger{
		leafFrames: leafFrames, work: c.work, table: store.NewTable(), columns: map[pprof.SampleType]int{},
		heads: map[*store.Head]bool{}, comments: map[string]bool{}, common: map[pprof.SampleType]int{},
	}
	for p := range s.each {
		if err := m.add(p); err != nil {
			return nil, err
		}
	}
	m.values = make([][]int64, len(m.types))
	for i := range s.parts {
		if err := m.addPart(&s.parts[i]); err != nil {
			return nil, err
		}
	}
	return m, s.filter.err()
}

// add merges what a profile says of its samples.
func (m *merger) add(p *selectedProfile) error {
	if len(m.heads) == 0 { // It is the first.
		m.head, m.begin = *p.Head, p.Begin.UnixNano()
		m.head.Comments = nil
	}
	m.begin = min(m.begin, p.Begin.UnixNano())
	m.duration += int64(p.End.Sub(p.Begin))
	if !m.heads[p.Head] {
		if err := m.addHead(p.Head); err != nil {
			return err
		}
	}
	for _, column := range p.wanted {
		t := p.Columns[column].SampleType
		if _, known := m.columns[t]; !known && m.work.Use(typeBytes) == nil {
			m.columns[t] = len(m.types)
			m.types = append(m.types, t)
		}
	}
	return m.work.Advance(columnWork * int64(len(p.wanted)))
}

// addHead merges a head, which many profiles can share.
func (m *merger) addHead(h *store.Head) error {
	bytes := int64(headBytes)
	if len(m.heads) == 0 {
		bytes += typeBytes * int64(len(h.Columns)) // in common
	}
	if err := cmp.Or(m.work.Use(bytes), m.work.Advance(columnWork*int64(len(h.Columns)+len(h.Comments)))); err != nil {
		return err
	}
	if m.head.PeriodType != h.PeriodType {
		return fail(http.StatusUnprocessableEntity, "the profiles measure different things: one has the period type %s/%s, another %s/%s",
			m.head.PeriodType.Name, m.head.PeriodType.Unit, h.PeriodType.Name, h.PeriodType.Unit)
	}
	hasCommon := false
	for i := range h.Columns {
		if t := h.Columns[i].SampleType; m.common[t] >= len(m.heads) {
			m.common[t] = len(m.heads) + 1
			hasCommon = true
		}
	}
	if !hasCommon {
		return fail(http.StatusUnprocessableEntity, "the profiles measure different things: they have no sample type in common")
	}
	m.heads[h] = true
	m.head.Period = max(m.head.Period, h.Period)
	for _, c := range h.Comments {
		if len(m.comments) < maxComments && !m.comments[c] {
			m.comments[c] = true
			m.head.Comments = append(m.head.Comments, c)
		}
	}
	return nil
}

// maxComments limits the comments of the result. More have no use.
const maxComments = 1000

// maxPGOSize limits default.pgo, which is kept in repositories of source code.
const maxPGOSize = 4 << 20

// pgoTypes are the sample types that go build accepts. It uses the first one that a profile has.
var pgoTypes = []pprof.SampleType{{Name: "samples", Unit: "count"}, {Name: "cpu", Unit: "nanoseconds"}}

// pgo returns a profile for go build -pgo in gzip, of at most maxPGOSize bytes. It leaves out the lightest samples to fit.
func (m *merger) pgo() ([]byte, error) {
	if !slices.ContainsFunc(m.table.Functions.Rows, func(f store.Function) bool { return f.StartLine > 0 }) {
		return nil, fail(http.StatusUnprocessableEntity,
			"no function of the CPU profiles has a start line; go build -pgo needs them. Go programs of 1.20 and later send them")
	}
	columns, order := m.fullest(), upTo(len(m.samples.Rows))
	last := m.values[columns[len(columns)-1]]
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(last[b], last[a]) })
	for {
		out, err := m.write(order, columns)
		if err == nil {
			out, err = compress(out)
		}
		if err != nil || len(out) <= maxPGOSize || len(order) == 0 {
			return out, err
		}
		order = order[:int(0.9*float64(maxPGOSize)/float64(len(out))*float64(len(order)))]
	}
}

// upTo returns the numbers from 0 to before n.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// fullest returns the positions of the sample types to write. If some of the profiles that were merged lack one, it is only the type that
// most samples have: go build would ignore the others.
func (m *merger) fullest() []int {
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
		return upTo(len(m.types))
	}
	return []int{best}
}
