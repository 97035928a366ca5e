// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Visit visits the indices in a part of a message, with a rule for each table. Create it with [NewVisit]. It writes only
// what changes, so a message can be read-only.
type Visit [NumTables]rule

// rule says what a Visit does with the indices of one table.
type rule struct {
	// Known, if set, has the entries that the Visit leaves out.
	Known []bool
	// Mark marks each visited entry in Known, so that the Visit leaves it out from then on.
	Mark bool
	// To, if set, has the new indices.
	To []int32
	// List, if set, gets the lists of indices that are not empty. Otherwise the Visit handles each index of a list.
	List func(list pcommon.Int32Slice)

	// others returns the new index for an index that neither Known nor To has.
	table  Table
	others func(t Table, i int32) int32
}

// NewVisit returns a Visit that passes all indices to others, except 0, which is the zero value in every dictionary.
// others returns the new index.
func NewVisit(others func(t Table, i int32) int32) *Visit {
	v := &Visit{}
	for t := range NumTables {
		v[t].table, v[t].others = t, others
	}
	return v
}

// next returns the new index for an index.
func (r *rule) next(i int32) int32 {
	if uint(i) < uint(len(r.To)) {
		return r.To[i]
	}
	return r.ask(i)
}

// ask returns the new index for an index that To does not have. It is not inlined, so that next can be.
//
//go:noinline
func (r *rule) ask(i int32) int32 {
	if uint(i) < uint(len(r.Known)) {
		if r.Known[i] {
			return i
		}
		if r.Mark {
			r.Known[i] = true
			return i
		}
	}
	if i == 0 {
		return 0
	}
	return r.others(r.table, i)
}

func (r *rule) list(list pcommon.Int32Slice) {
	if list.Len() > 0 {
		r.items(list)
	}
}

// items is not inlined, so that list can be.
//
//go:noinline
func (r *rule) items(list pcommon.Int32Slice) {
	if r.List != nil {
		r.List(list)
		return
	}
	indices := r.To // A local slice is faster in the loop than a call of next.
	for j := range list.Len() {
		old, to := list.At(j), int32(0)
		if uint(old) < uint(len(indices)) {
			to = indices[old]
		} else {
			to = r.ask(old)
		}
		if to != old {
			list.SetAt(j, to)
		}
	}
}

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
		if to := v[Strings].next(value.TypeStrindex()); to != value.TypeStrindex() {
			value.SetTypeStrindex(to)
		}
		if to := v[Strings].next(value.UnitStrindex()); to != value.UnitStrindex() {
			value.SetUnitStrindex(to)
		}
	}
	v[Attributes].list(profile.AttributeIndices())
}

// Sample visits the indices of a sample.
func (v *Visit) Sample(sample pprofile.Sample) {
	if to := v[Stacks].next(sample.StackIndex()); to != sample.StackIndex() {
		sample.SetStackIndex(to)
	}
	if to := v[Links].next(sample.LinkIndex()); to != sample.LinkIndex() {
		sample.SetLinkIndex(to)
	}
	v[Attributes].list(sample.AttributeIndices())
}

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
	if to := v[Strings].next(function.NameStrindex()); to != function.NameStrindex() {
		function.SetNameStrindex(to)
	}
	if to := v[Strings].next(function.SystemNameStrindex()); to != function.SystemNameStrindex() {
		function.SetSystemNameStrindex(to)
	}
	if to := v[Strings].next(function.FilenameStrindex()); to != function.FilenameStrindex() {
		function.SetFilenameStrindex(to)
	}
}

func (v *Visit) mapping(mapping pprofile.Mapping) {
	if to := v[Strings].next(mapping.FilenameStrindex()); to != mapping.FilenameStrindex() {
		mapping.SetFilenameStrindex(to)
	}
	v[Attributes].list(mapping.AttributeIndices())
}

func (v *Visit) location(location pprofile.Location) {
	if to := v[Mappings].next(location.MappingIndex()); to != location.MappingIndex() {
		location.SetMappingIndex(to)
	}
	lines := location.Lines()
	for j := range lines.Len() {
		line := lines.At(j)
		if to := v[Functions].next(line.FunctionIndex()); to != line.FunctionIndex() {
			line.SetFunctionIndex(to)
		}
	}
	v[Attributes].list(location.AttributeIndices())
}

func (v *Visit) attribute(attribute pprofile.KeyValueAndUnit) {
	if to := v[Strings].next(attribute.KeyStrindex()); to != attribute.KeyStrindex() {
		attribute.SetKeyStrindex(to)
	}
	if to := v[Strings].next(attribute.UnitStrindex()); to != attribute.UnitStrindex() {
		attribute.SetUnitStrindex(to)
	}
}
