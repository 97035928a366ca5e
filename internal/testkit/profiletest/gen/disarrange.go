// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"math/rand/v2"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// Disarrange returns a message of the same meaning with another dictionary: entries stand in another order, some twice,
// with orphans between them. References go to any of the copies, attribute lists are shuffled, and samples too. pd must
// keep the rules of the protocol.
func Disarrange(pd pprofile.Profiles, random *rand.Rand) pprofile.Profiles {
	result := pprofile.NewProfiles()
	pd.CopyTo(result)
	from, to := pd.Dictionary(), result.Dictionary()
	d := &disarranger{random: random}

	d.strings = d.moves(from.StringTable().Len())
	to.StringTable().FromRaw(nil)
	for _, old := range d.strings.entries {
		to.StringTable().Append(d.stringOrOrphan(from.StringTable(), old))
	}
	d.attributes = d.moves(from.AttributeTable().Len())
	table(d, to.AttributeTable(), from.AttributeTable(), d.attributes.entries, func(kv pprofile.KeyValueAndUnit) {
		kv.SetKeyStrindex(d.strings.to(d, kv.KeyStrindex()))
		kv.SetUnitStrindex(d.strings.to(d, kv.UnitStrindex()))
	})
	d.functions = d.moves(from.FunctionTable().Len())
	table(d, to.FunctionTable(), from.FunctionTable(), d.functions.entries, func(f pprofile.Function) {
		f.SetNameStrindex(d.strings.to(d, f.NameStrindex()))
		f.SetSystemNameStrindex(d.strings.to(d, f.SystemNameStrindex()))
		f.SetFilenameStrindex(d.strings.to(d, f.FilenameStrindex()))
	})
	d.mappings = d.moves(from.MappingTable().Len())
	table(d, to.MappingTable(), from.MappingTable(), d.mappings.entries, func(m pprofile.Mapping) {
		m.SetFilenameStrindex(d.strings.to(d, m.FilenameStrindex()))
		d.list(m.AttributeIndices())
	})
	d.locations = d.moves(from.LocationTable().Len())
	table(d, to.LocationTable(), from.LocationTable(), d.locations.entries, func(l pprofile.Location) {
		l.SetMappingIndex(d.mappings.to(d, l.MappingIndex()))
		d.list(l.AttributeIndices())
		for _, line := range l.Lines().All() {
			line.SetFunctionIndex(d.functions.to(d, line.FunctionIndex()))
		}
	})
	d.stacks = d.moves(from.StackTable().Len())
	table(d, to.StackTable(), from.StackTable(), d.stacks.entries, func(s pprofile.Stack) {
		for i, index := range s.LocationIndices().All() {
			s.LocationIndices().SetAt(i, d.locations.to(d, index))
		}
	})
	d.links = d.moves(from.LinkTable().Len())
	table(d, to.LinkTable(), from.LinkTable(), d.links.entries, func(pprofile.Link) {})
	for p := range walk.Profiles(result) {
		d.profile(p)
	}
	return result
}

type disarranger struct {
	random *rand.Rand

	strings, attributes, functions, mappings, locations, stacks, links moves
}

// moves says where the entries of a table go. entries holds the old index of each new entry, -1 for an orphan.
type moves struct {
	entries []int
	places  [][]int32
}

func (d *disarranger) moves(length int) moves {
	entries := make([]int, 0, 2*length+1)
	for old := 1; old < length; old++ {
		for range 1 + d.random.IntN(2) {
			entries = append(entries, old)
		}
	}
	for range d.random.IntN(3) {
		entries = append(entries, -1)
	}
	d.random.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	m := moves{entries: append([]int{0}, entries...), places: make([][]int32, length)}
	for index, old := range m.entries {
		if old >= 0 {
			m.places[old] = append(m.places[old], int32(index))
		}
	}
	return m
}

func (m moves) to(d *disarranger, old int32) int32 { return pick(d.random, m.places[old]) }

func (d *disarranger) stringOrOrphan(from pcommon.StringSlice, old int) string {
	if old < 0 {
		return fmt.Sprintf("orphan %d", d.random.IntN(32))
	}
	return from.At(old)
}

// slice is what all tables of a dictionary but the strings are.
type slice[T any] interface {
	Len() int
	At(int) T
	AppendEmpty() T
	RemoveIf(func(T) bool)
}

// table fills a table anew. An orphan is a copy of an entry, with references of its own, to which none leads.
func table[T interface{ CopyTo(T) }](d *disarranger, to, from slice[T], entries []int, mend func(T)) {
	to.RemoveIf(func(T) bool { return true })
	for _, old := range entries {
		if old < 0 {
			old = d.random.IntN(from.Len())
		}
		entry := to.AppendEmpty()
		from.At(old).CopyTo(entry)
		if old != 0 {
			mend(entry)
		}
	}
}

func (d *disarranger) profile(p pprofile.Profile) {
	for _, v := range []pprofile.ValueType{p.SampleType(), p.PeriodType()} {
		v.SetTypeStrindex(d.strings.to(d, v.TypeStrindex()))
		v.SetUnitStrindex(d.strings.to(d, v.UnitStrindex()))
	}
	d.list(p.AttributeIndices())
	for _, s := range p.Samples().All() {
		s.SetStackIndex(d.stacks.to(d, s.StackIndex()))
		s.SetLinkIndex(d.links.to(d, s.LinkIndex()))
		d.list(s.AttributeIndices())
	}
	order := d.random.Perm(p.Samples().Len())
	shuffled := pprofile.NewSampleSlice()
	for _, i := range order {
		p.Samples().At(i).CopyTo(shuffled.AppendEmpty())
	}
	shuffled.CopyTo(p.Samples())
}

// list moves the attributes of an owner and shuffles them.
func (d *disarranger) list(indices pcommon.Int32Slice) {
	moved := make([]int32, 0, indices.Len())
	for _, index := range indices.All() {
		moved = append(moved, d.attributes.to(d, index))
	}
	d.random.Shuffle(len(moved), func(i, j int) { moved[i], moved[j] = moved[j], moved[i] })
	indices.FromRaw(moved)
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }
