// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Indices gets the indices in a part of a message, and can change them.
type Indices interface {
	// Index returns the new index for the index of an entry.
	Index(t Table, i int32) int32
	// List changes a list of indices. The list is not empty, and can contain 0.
	List(t Table, list pcommon.Int32Slice)
}

// Visit visits the indices in a part of a message, with a rule for each table. Create it with [NewVisit]. It writes only
// what changes, so a message can be read-only.
type Visit [NumTables]Rule

// Rule says what a Visit does with the indices of one table.
type Rule struct {
	// Known, if set, has the entries that the Visit leaves out.
	Known []bool
	// Mark marks each visited entry in Known, so that the Visit leaves it out from then on.
	Mark bool
	// To, if set, has the new indices.
	To []int32

	// others gets all lists, and the indices that neither Known nor To has.
	table  Table
	others Indices
}

// NewVisit returns a Visit that passes all indices to others, except 0, which is the zero value in every dictionary.
func NewVisit(others Indices) *Visit {
	v := &Visit{}
	for t := range NumTables {
		v[t].table, v[t].others = t, others
	}
	return v
}

// known reports whether the Visit leaves out an index.
func (r *Rule) known(i int32) bool {
	if uint(i) >= uint(len(r.Known)) {
		return false
	}
	r.Known[i] = r.Known[i] || r.Mark
	return r.Known[i]
}

// to returns the new index for an index.
func (r *Rule) to(i int32) int32 {
	if uint(i) < uint(len(r.To)) {
		return r.To[i]
	}
	return r.ask(i)
}

// ask is not inlined, so that to can be.
//
//go:noinline
func (r *Rule) ask(i int32) int32 {
	if i == 0 {
		return 0
	}
	return r.others.Index(r.table, i)
}

func (r *Rule) list(list pcommon.Int32Slice) {
	if list.Len() > 0 {
		r.askList(list)
	}
}

//go:noinline
func (r *Rule) askList(list pcommon.Int32Slice) { r.others.List(r.table, list) }

// Profile visits the indices of a profile, including those of its samples.
func (v *Visit) Profile(profile pprofile.Profile) {
	v.Header(profile)
	samples := profile.Samples()
	for i := range samples.Len() {
		v.Sample(samples.At(i))
	}
}

// Header visits the indices of a profile, without those of its samples. Here and below, the same lines are repeated for
// each field: pdata has different methods for each, and passing these as functions would prevent inlining.
func (v *Visit) Header(profile pprofile.Profile) {
	for _, value := range [...]pprofile.ValueType{profile.SampleType(), profile.PeriodType()} {
		if i := value.TypeStrindex(); !v[Strings].known(i) {
			if to := v[Strings].to(i); to != i {
				value.SetTypeStrindex(to)
			}
		}
		if i := value.UnitStrindex(); !v[Strings].known(i) {
			if to := v[Strings].to(i); to != i {
				value.SetUnitStrindex(to)
			}
		}
	}
	v[Attributes].list(profile.AttributeIndices())
}

// Sample visits the indices of a sample.
func (v *Visit) Sample(sample pprofile.Sample) {
	if i := sample.StackIndex(); !v[Stacks].known(i) {
		if to := v[Stacks].to(i); to != i {
			sample.SetStackIndex(to)
		}
	}
	if i := sample.LinkIndex(); !v[Links].known(i) {
		if to := v[Links].to(i); to != i {
			sample.SetLinkIndex(to)
		}
	}
	v[Attributes].list(sample.AttributeIndices())
}

// Entry visits the indices of an entry of a table.
func (v *Visit) Entry(d pprofile.ProfilesDictionary, t Table, i int) { v.Entries(d, t, i, i+1, nil) }

// Entries visits the indices of the entries of a table from begin to end-1. If wanted is set, it chooses the entries.
func (v *Visit) Entries(d pprofile.ProfilesDictionary, t Table, begin, end int, wanted []bool) {
	switch t {
	case Functions:
		for table := d.FunctionTable(); begin < end; begin++ {
			if len(wanted) == 0 || wanted[begin] {
				v.function(table.At(begin))
			}
		}
	case Mappings:
		for table := d.MappingTable(); begin < end; begin++ {
			if len(wanted) == 0 || wanted[begin] {
				v.mapping(table.At(begin))
			}
		}
	case Locations:
		for table := d.LocationTable(); begin < end; begin++ {
			if len(wanted) == 0 || wanted[begin] {
				v.location(table.At(begin))
			}
		}
	case Stacks:
		for table := d.StackTable(); begin < end; begin++ {
			if len(wanted) == 0 || wanted[begin] {
				v[Locations].list(table.At(begin).LocationIndices())
			}
		}
	case Attributes:
		for table := d.AttributeTable(); begin < end; begin++ {
			if len(wanted) == 0 || wanted[begin] {
				v.attribute(table.At(begin))
			}
		}
	case Strings, Links, NumTables:
	}
}

func (v *Visit) function(function pprofile.Function) {
	if i := function.NameStrindex(); !v[Strings].known(i) {
		if to := v[Strings].to(i); to != i {
			function.SetNameStrindex(to)
		}
	}
	if i := function.SystemNameStrindex(); !v[Strings].known(i) {
		if to := v[Strings].to(i); to != i {
			function.SetSystemNameStrindex(to)
		}
	}
	if i := function.FilenameStrindex(); !v[Strings].known(i) {
		if to := v[Strings].to(i); to != i {
			function.SetFilenameStrindex(to)
		}
	}
}

func (v *Visit) mapping(mapping pprofile.Mapping) {
	if i := mapping.FilenameStrindex(); !v[Strings].known(i) {
		if to := v[Strings].to(i); to != i {
			mapping.SetFilenameStrindex(to)
		}
	}
	v[Attributes].list(mapping.AttributeIndices())
}

func (v *Visit) location(location pprofile.Location) {
	if i := location.MappingIndex(); !v[Mappings].known(i) {
		if to := v[Mappings].to(i); to != i {
			location.SetMappingIndex(to)
		}
	}
	lines := location.Lines()
	for j := range lines.Len() {
		line := lines.At(j)
		if i := line.FunctionIndex(); !v[Functions].known(i) {
			if to := v[Functions].to(i); to != i {
				line.SetFunctionIndex(to)
			}
		}
	}
	v[Attributes].list(location.AttributeIndices())
}

func (v *Visit) attribute(attribute pprofile.KeyValueAndUnit) {
	if i := attribute.KeyStrindex(); !v[Strings].known(i) {
		if to := v[Strings].to(i); to != i {
			attribute.SetKeyStrindex(to)
		}
	}
	if i := attribute.UnitStrindex(); !v[Strings].known(i) {
		if to := v[Strings].to(i); to != i {
			attribute.SetUnitStrindex(to)
		}
	}
}
