// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// IndexError is the error for an index that its table does not have.
type IndexError struct {
	Table string
	Index int32
	Len   int
}

func (e *IndexError) Error() string {
	return fmt.Sprintf("index %d of the %s table does not exist, it has %d entries", e.Index, e.Table, e.Len)
}

// Importer copies entries of a dictionary to a Builder, each on its first use, with all entries to which it refers. Index
// 0 is the zero value in every dictionary, even if the table has another value there or is empty. Create it with
// [NewImporter]; Reset begins with the next dictionary.
//
// The Importer does not change the source. The source must not change until the Builder is written or reset, since the
// Builder refers to attribute values of complex types.
type Importer struct {
	builder *Builder
	source  pprofile.ProfilesDictionary
	of      [NumTables]remap
	// err is the first error of RewriteProfile.
	err error

	// Lists under construction: a location needs lines and attributes at once.
	lines   []Line
	indices []int32
	stack   []int32
}

// remap has the new index of each entry plus one; zero means that the entry has not been copied yet.
type remap struct {
	table string
	to    []int32
}

func (r *remap) reset(table string, n int) {
	r.table = table
	r.to = scratch.Zeroed(r.to, n)
}

// find returns the new index of entry i; ok is false if the entry has not been copied yet.
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

// Reset begins with another source.
func (im *Importer) Reset(builder *Builder, source pprofile.ProfilesDictionary) {
	im.builder, im.source = builder, source
	im.err = nil
	for t, n := range LengthsOf(source) {
		im.of[t].reset(TableNames[t], n)
	}
}

// Release drops all references to the source.
func (im *Importer) Release() { im.builder, im.source = nil, pprofile.ProfilesDictionary{} }

// String copies string i and returns its new index.
func (im *Importer) String(i int32) (int32, error) {
	index, ok, err := im.of[Strings].find(i)
	if ok || err != nil {
		return index, err
	}
	return im.of[Strings].set(i, im.builder.String(im.source.StringTable().At(int(i)))), nil
}

// Function copies function i and returns its new index.
func (im *Importer) Function(i int32) (int32, error) {
	index, ok, err := im.of[Functions].find(i)
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
	return im.of[Functions].set(i, im.builder.Function(f)), nil
}

// Mapping copies mapping i and returns its new index.
func (im *Importer) Mapping(i int32) (int32, error) {
	index, ok, err := im.of[Mappings].find(i)
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
	return im.of[Mappings].set(i, im.builder.Mapping(m, im.indices)), nil
}

// Location copies location i and returns its new index.
func (im *Importer) Location(i int32) (int32, error) {
	index, ok, err := im.of[Locations].find(i)
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
	return im.of[Locations].set(i, im.builder.Location(l, im.lines, im.indices)), nil
}

// Stack copies stack i and returns its new index.
func (im *Importer) Stack(i int32) (int32, error) {
	index, ok, err := im.of[Stacks].find(i)
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
	return im.of[Stacks].set(i, im.builder.Stack(im.stack)), nil
}

// Attribute copies attribute i and returns its new index. The error for a value that is too deep is an
// *[attributevalue.TooDeepError].
func (im *Importer) Attribute(i int32) (int32, error) {
	index, ok, err := im.of[Attributes].find(i)
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
	return im.of[Attributes].set(i, im.builder.Attribute(key, unit, from.Value())), nil
}

// AppendAttributes copies a list of attributes, and appends it to list as a sorted set. It leaves out index 0, the zero
// value.
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

// SortSet sorts list from position start on, and removes repeated items there.
func SortSet(list []int32, start int) []int32 {
	if len(list)-start < 2 {
		return list
	}
	set := list[start:]
	slices.Sort(set)
	return list[:start+len(slices.Compact(set))]
}

// Link copies link i and returns its new index.
func (im *Importer) Link(i int32) (int32, error) {
	index, ok, err := im.of[Links].find(i)
	if ok || err != nil {
		return index, err
	}
	from := im.source.LinkTable().At(int(i))
	return im.of[Links].set(i, im.builder.Link(Link{TraceID: from.TraceID(), SpanID: from.SpanID()})), nil
}

// RewriteProfile copies the entries to which a profile refers, and replaces the indices of the profile. It writes lists
// of attributes as sorted sets.
func (im *Importer) RewriteProfile(profile pprofile.Profile) error {
	NewVisit(rewriter{im}).Profile(profile)
	return im.err
}

// rewriter copies the entries of the indices that it gets, until the first error.
type rewriter struct{ *Importer }

func (im rewriter) Index(t Table, i int32) (to int32) {
	if im.err != nil {
		return i
	}
	switch t {
	case Strings:
		to, im.err = im.String(i)
	case Stacks:
		to, im.err = im.Stack(i)
	case Links:
		to, im.err = im.Link(i)
	default:
		to, im.err = i, fmt.Errorf("a profile refers to no %s", TableNames[t])
	}
	return to
}

func (im rewriter) List(_ Table, list pcommon.Int32Slice) {
	if im.err != nil {
		return
	}
	if im.indices, im.err = im.AppendAttributes(im.indices[:0], list); im.err == nil {
		list.FromRaw(im.indices)
	}
}
