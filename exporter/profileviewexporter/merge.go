// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"cmp"
	"fmt"
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
	// values are the values of the samples, by sample type.
	types  []pprof.SampleType
	values [][]int64

	// head, begin and duration are of all profiles. common are the sample types that all of them have.
	head            store.Head
	begin, duration int64
	common          []pprof.SampleType
}

type mergedSample struct{ stack, labels uint32 }

// merge merges a selection.
func (c *call) merge(s *selection, leafFrames int) (*merger, error) {
	s.keepLatest()
	m := &merger{leafFrames: leafFrames, work: c.work, table: store.NewTable()}
	for p := range s.each {
		if err := m.addHead(p.Profile); err != nil {
			return nil, err
		}
		for _, column := range p.wanted {
			if t := p.Columns[column].SampleType; !slices.Contains(m.types, t) {
				m.types = append(m.types, t)
			}
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

// addHead merges what a profile says of its samples.
func (m *merger) addHead(p *store.Profile) error {
	types := make([]pprof.SampleType, len(p.Columns))
	for i := range p.Columns {
		types[i] = p.Columns[i].SampleType
	}
	if len(m.types) == 0 { // It is the first.
		m.head, m.begin, m.common = *p.Head, p.Begin.UnixNano(), types
		m.head.Comments = nil
	}
	if m.head.PeriodType != p.PeriodType {
		return errDiffers("one has the period type %s/%s, another %s/%s", m.head.PeriodType.Name, m.head.PeriodType.Unit, p.PeriodType.Name, p.PeriodType.Unit)
	}
	m.common = slices.DeleteFunc(m.common, func(t pprof.SampleType) bool { return !slices.Contains(types, t) })
	if len(m.common) == 0 {
		return errDiffers("they have no sample type in common")
	}
	m.begin = min(m.begin, p.Begin.UnixNano())
	m.duration += int64(p.End.Sub(p.Begin))
	m.head.Period = max(m.head.Period, p.Period)
	for _, c := range p.Comments {
		if len(m.head.Comments) < maxComments && !slices.Contains(m.head.Comments, c) {
			m.head.Comments = append(m.head.Comments, c)
		}
	}
	return nil
}

// errDiffers returns the error for profiles that cannot be one pprof.
func errDiffers(format string, arguments ...any) error {
	return fail(http.StatusUnprocessableEntity, "the profiles measure different things: %s", fmt.Sprintf(format, arguments...))
}

// maxComments limits the comments of the result. More have no use, and each is compared with all others.
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
