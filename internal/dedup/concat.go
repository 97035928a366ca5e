// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Concat moves the content of src behind that of dst, without deduplicating: pointers move, indices shift. src is empty
// afterwards; one that is read-only is copied and stays as it is. What was equal or broken in src is so afterwards.
func Concat(dst, src pprofile.Profiles) {
	if src.IsReadOnly() {
		own := pprofile.NewProfiles()
		src.CopyTo(own)
		src = own
	}
	s := newShifts(dst.Dictionary(), src.Dictionary())
	s.shiftTables(src.Dictionary())
	for profile := range profilesOf(src) {
		s.shiftProfile(profile)
	}
	moveTables(dst.Dictionary(), src.Dictionary())
	src.ResourceProfiles().MoveAndAppendTo(dst.ResourceProfiles())
}

// shift moves the indices of one table.
type shift struct{ by, n int32 }

func (s shift) of(i int32) int32 {
	switch {
	case i <= 0:
		// 0 is the zero value in any dictionary.
		return i
	case i >= s.n:
		// What does not exist must not come to exist with the next message.
		return -1
	default:
		return i + s.by
	}
}

func (s shift) list(list pcommon.Int32Slice) {
	for j := range list.Len() {
		list.SetAt(j, s.of(list.At(j)))
	}
}

type shifts struct {
	strings, functions, mappings, locations, stacks, attributes, links shift
}

func newShifts(dst, src pprofile.ProfilesDictionary) shifts {
	return shifts{
		strings:    shift{int32(dst.StringTable().Len()), int32(src.StringTable().Len())},
		functions:  shift{int32(dst.FunctionTable().Len()), int32(src.FunctionTable().Len())},
		mappings:   shift{int32(dst.MappingTable().Len()), int32(src.MappingTable().Len())},
		locations:  shift{int32(dst.LocationTable().Len()), int32(src.LocationTable().Len())},
		stacks:     shift{int32(dst.StackTable().Len()), int32(src.StackTable().Len())},
		attributes: shift{int32(dst.AttributeTable().Len()), int32(src.AttributeTable().Len())},
		links:      shift{int32(dst.LinkTable().Len()), int32(src.LinkTable().Len())},
	}
}

func (s *shifts) shiftTables(d pprofile.ProfilesDictionary) {
	for _, f := range d.FunctionTable().All() {
		f.SetNameStrindex(s.strings.of(f.NameStrindex()))
		f.SetSystemNameStrindex(s.strings.of(f.SystemNameStrindex()))
		f.SetFilenameStrindex(s.strings.of(f.FilenameStrindex()))
	}
	for _, m := range d.MappingTable().All() {
		m.SetFilenameStrindex(s.strings.of(m.FilenameStrindex()))
		s.attributes.list(m.AttributeIndices())
	}
	for _, l := range d.LocationTable().All() {
		l.SetMappingIndex(s.mappings.of(l.MappingIndex()))
		s.attributes.list(l.AttributeIndices())
		lines := l.Lines()
		for j := range lines.Len() {
			line := lines.At(j)
			line.SetFunctionIndex(s.functions.of(line.FunctionIndex()))
		}
	}
	for _, stack := range d.StackTable().All() {
		s.locations.list(stack.LocationIndices())
	}
	for _, a := range d.AttributeTable().All() {
		a.SetKeyStrindex(s.strings.of(a.KeyStrindex()))
		a.SetUnitStrindex(s.strings.of(a.UnitStrindex()))
	}
}

func (s *shifts) shiftProfile(profile pprofile.Profile) {
	for _, v := range [...]pprofile.ValueType{profile.SampleType(), profile.PeriodType()} {
		v.SetTypeStrindex(s.strings.of(v.TypeStrindex()))
		v.SetUnitStrindex(s.strings.of(v.UnitStrindex()))
	}
	s.attributes.list(profile.AttributeIndices())
	samples := profile.Samples()
	for i := range samples.Len() {
		sample := samples.At(i)
		sample.SetStackIndex(s.stacks.of(sample.StackIndex()))
		sample.SetLinkIndex(s.links.of(sample.LinkIndex()))
		s.attributes.list(sample.AttributeIndices())
	}
}

func moveTables(dst, src pprofile.ProfilesDictionary) {
	src.StringTable().MoveAndAppendTo(dst.StringTable())
	src.FunctionTable().MoveAndAppendTo(dst.FunctionTable())
	src.MappingTable().MoveAndAppendTo(dst.MappingTable())
	src.LocationTable().MoveAndAppendTo(dst.LocationTable())
	src.StackTable().MoveAndAppendTo(dst.StackTable())
	src.AttributeTable().MoveAndAppendTo(dst.AttributeTable())
	src.LinkTable().MoveAndAppendTo(dst.LinkTable())
}
