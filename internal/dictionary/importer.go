// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
)

// IndexError tells of an index that its table does not have.
type IndexError struct {
	Table string
	Index int32
	Len   int
}

func (e *IndexError) Error() string {
	return fmt.Sprintf("index %d of the %s table does not exist, it has %d entries", e.Index, e.Table, e.Len)
}

// Importer carries entries of one dictionary over to a Builder, each on its first use with all that it refers to. Index
// 0 is the zero value in any dictionary, even in one that holds something else there or nothing. Make it with
// [NewImporter]; Reset points it at the next dictionary.
//
// The source is only read. It must stay as it is until the Builder is written or reset, since attribute values of
// complex kinds are borrowed.
type Importer struct {
	builder *Builder
	source  pprofile.ProfilesDictionary

	strings    remap
	functions  remap
	mappings   remap
	locations  remap
	stacks     remap
	attributes remap
	links      remap

	// Lists under construction: a location needs lines and attributes at once.
	lines   []Line
	indices []int32
	stack   []int32
}

// remap holds the new index of each entry plus one; zero says that the entry was not carried over yet.
type remap struct {
	table string
	to    []int32
}

func (r *remap) reset(table string, n int) {
	r.table = table
	r.to = slices.Grow(r.to[:0], n)[:n]
	clear(r.to)
}

// find returns the new index of entry i; ok is false when the entry must be carried over first.
func (r *remap) find(i int32) (index int32, ok bool, err error) {
	if i == 0 {
		return 0, true, nil
	}
	if i < 0 || int(i) >= len(r.to) {
		return 0, false, &IndexError{Table: r.table, Index: i, Len: len(r.to)}
	}
	return r.to[i] - 1, r.to[i] != 0, nil
}

func (r *remap) set(i, index int32) int32 {
	r.to[i] = index + 1
	return index
}

// NewImporter returns an Importer from source to builder.
func NewImporter(builder *Builder, source pprofile.ProfilesDictionary) *Importer {
	im := &Importer{}
	im.Reset(builder, source)
	return im
}

// Reset forgets what was carried over and begins with another source.
func (im *Importer) Reset(builder *Builder, source pprofile.ProfilesDictionary) {
	im.builder, im.source = builder, source
	im.strings.reset("string", source.StringTable().Len())
	im.functions.reset("function", source.FunctionTable().Len())
	im.mappings.reset("mapping", source.MappingTable().Len())
	im.locations.reset("location", source.LocationTable().Len())
	im.stacks.reset("stack", source.StackTable().Len())
	im.attributes.reset("attribute", source.AttributeTable().Len())
	im.links.reset("link", source.LinkTable().Len())
}

// Release lets go of the source.
func (im *Importer) Release() { im.builder, im.source = nil, pprofile.ProfilesDictionary{} }

// String carries string i over and returns its new index.
func (im *Importer) String(i int32) (int32, error) {
	index, ok, err := im.strings.find(i)
	if ok || err != nil {
		return index, err
	}
	return im.strings.set(i, im.builder.String(im.source.StringTable().At(int(i)))), nil
}

// Function carries function i over and returns its new index.
func (im *Importer) Function(i int32) (int32, error) {
	index, ok, err := im.functions.find(i)
	if ok || err != nil {
		return index, err
	}
	from := im.source.FunctionTable().At(int(i))
	f := Function{StartLine: from.StartLine()}
	if f.Name, err = im.String(from.NameStrindex()); err != nil {
		return 0, err
	}
	if f.SystemName, err = im.String(from.SystemNameStrindex()); err != nil {
		return 0, err
	}
	if f.Filename, err = im.String(from.FilenameStrindex()); err != nil {
		return 0, err
	}
	return im.functions.set(i, im.builder.Function(f)), nil
}

// Mapping carries mapping i over and returns its new index.
func (im *Importer) Mapping(i int32) (int32, error) {
	index, ok, err := im.mappings.find(i)
	if ok || err != nil {
		return index, err
	}
	from := im.source.MappingTable().At(int(i))
	m := Mapping{Start: from.MemoryStart(), Limit: from.MemoryLimit(), Offset: from.FileOffset()}
	if m.Filename, err = im.String(from.FilenameStrindex()); err != nil {
		return 0, err
	}
	if im.indices, err = im.AppendAttributes(im.indices[:0], from.AttributeIndices()); err != nil {
		return 0, err
	}
	return im.mappings.set(i, im.builder.Mapping(m, im.indices)), nil
}

// Location carries location i over and returns its new index.
func (im *Importer) Location(i int32) (int32, error) {
	index, ok, err := im.locations.find(i)
	if ok || err != nil {
		return index, err
	}
	from := im.source.LocationTable().At(int(i))
	l := Location{Address: from.Address()}
	if l.Mapping, err = im.Mapping(from.MappingIndex()); err != nil {
		return 0, err
	}
	im.lines = im.lines[:0]
	lines := from.Lines()
	for j := range lines.Len() {
		line := lines.At(j)
		function, err := im.Function(line.FunctionIndex())
		if err != nil {
			return 0, err
		}
		im.lines = append(im.lines, Line{Function: function, Line: line.Line(), Column: line.Column()})
	}
	if im.indices, err = im.AppendAttributes(im.indices[:0], from.AttributeIndices()); err != nil {
		return 0, err
	}
	return im.locations.set(i, im.builder.Location(l, im.lines, im.indices)), nil
}

// Stack carries stack i over and returns its new index.
func (im *Importer) Stack(i int32) (int32, error) {
	index, ok, err := im.stacks.find(i)
	if ok || err != nil {
		return index, err
	}
	im.stack = im.stack[:0]
	locations := im.source.StackTable().At(int(i)).LocationIndices()
	for j := range locations.Len() {
		location, err := im.Location(locations.At(j))
		if err != nil {
			return 0, err
		}
		im.stack = append(im.stack, location)
	}
	return im.stacks.set(i, im.builder.Stack(im.stack)), nil
}

// Attribute carries attribute i over and returns its new index. One that is too deep is an
// *[attributevalue.TooDeepError].
func (im *Importer) Attribute(i int32) (int32, error) {
	index, ok, err := im.attributes.find(i)
	if ok || err != nil {
		return index, err
	}
	from := im.source.AttributeTable().At(int(i))
	key, err := im.String(from.KeyStrindex())
	if err != nil {
		return 0, err
	}
	unit, err := im.String(from.UnitStrindex())
	if err != nil {
		return 0, err
	}
	if attributevalue.TooDeep(from.Value()) {
		return 0, &attributevalue.TooDeepError{Key: im.builder.StringAt(key)}
	}
	return im.attributes.set(i, im.builder.Attribute(key, unit, from.Value())), nil
}

// AppendAttributes carries a list of attributes over and appends it to list as a set: sorted, each once. Index 0 says
// nothing and is left out.
func (im *Importer) AppendAttributes(list []int32, from pcommon.Int32Slice) ([]int32, error) {
	start := len(list)
	for j := range from.Len() {
		index, err := im.Attribute(from.At(j))
		if err != nil {
			return list, err
		}
		if index != 0 {
			list = append(list, index)
		}
	}
	return SortSet(list, start), nil
}

// SortSet sorts list from position start on and drops what stands there twice.
func SortSet(list []int32, start int) []int32 {
	if len(list)-start < 2 {
		return list
	}
	set := list[start:]
	slices.Sort(set)
	return list[:start+len(slices.Compact(set))]
}

// Link carries link i over and returns its new index.
func (im *Importer) Link(i int32) (int32, error) {
	index, ok, err := im.links.find(i)
	if ok || err != nil {
		return index, err
	}
	from := im.source.LinkTable().At(int(i))
	return im.links.set(i, im.builder.Link(Link{TraceID: from.TraceID(), SpanID: from.SpanID()})), nil
}
