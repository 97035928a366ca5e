// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// importer copies strings, attributes and links of a message to a Builder, each on its first use. Equal ones get equal
// indices. It checks other entries, also on their first use. Index 0 is the zero value, even if the table has another value there or is empty.
//
// The importer does not change the message. The message must not change until the Builder is reset, since the Builder
// refers to attribute values of complex types.
type importer struct {
	builder *dictionary.Builder
	source  pprofile.ProfilesDictionary

	strings, attributes, links remap

	locationChecks, functionChecks, mappingChecks checks
}

// remap has the new index of each entry of a table plus one; zero means that the entry has not been copied yet.
type remap struct {
	table dictionary.Table
	to    []int32
}

func (r *remap) reset(table dictionary.Table, n int) {
	r.table = table
	r.to = scratch.Zeroed(r.to, n)
}

// find returns the new index of entry i; ok is false if the entry has not been copied yet.
func (r *remap) find(i int32) (index int32, ok bool, err error) {
	if i == 0 {
		return 0, true, nil
	}
	if i < 0 || int(i) >= len(r.to) {
		return 0, false, &dictionary.IndexError{Table: dictionary.TableNames[r.table], Index: i, Len: len(r.to)}
	}
	return r.to[i] - 1, r.to[i] != 0, nil
}

func (r *remap) set(i, index int32) int32 {
	r.to[i] = index + 1
	return index
}

// reset begins with another message.
func (im *importer) reset(builder *dictionary.Builder, source pprofile.ProfilesDictionary) {
	im.builder, im.source = builder, source
	im.strings.reset(dictionary.Strings, source.StringTable().Len())
	im.attributes.reset(dictionary.Attributes, source.AttributeTable().Len())
	im.links.reset(dictionary.Links, source.LinkTable().Len())
	im.locationChecks.reset("location", source.LocationTable().Len())
	im.functionChecks.reset("function", source.FunctionTable().Len())
	im.mappingChecks.reset("mapping", source.MappingTable().Len())
}

// kept returns the memory of the importer in bytes, including unused capacity.
func (im *importer) kept() int {
	bytes := scratch.Bytes(im.strings.to) + scratch.Bytes(im.attributes.to) + scratch.Bytes(im.links.to)
	for _, c := range []*checks{&im.locationChecks, &im.functionChecks, &im.mappingChecks} {
		bytes += cap(c.good) + entryMemory*len(c.bad)
	}
	return bytes
}

// string copies string i and returns its new index.
func (im *importer) string(i int32) (int32, error) {
	index, ok, err := im.strings.find(i)
	if ok || err != nil {
		return index, err
	}
	return im.strings.set(i, im.builder.String(im.source.StringTable().At(int(i)))), nil
}

// attribute copies attribute i and returns its new index. The error for a value that is too deep is an
// *[attributevalue.TooDeepError].
func (im *importer) attribute(i int32) (int32, error) {
	index, ok, err := im.attributes.find(i)
	if ok || err != nil {
		return index, err
	}
	from := im.source.AttributeTable().At(int(i))
	key, err := im.string(from.KeyStrindex())
	if err != nil {
		return 0, err
	}
	unit, err := im.string(from.UnitStrindex())
	if err != nil {
		return 0, err
	}
	if attributevalue.TooDeep(from.Value()) {
		return 0, &attributevalue.TooDeepError{Key: im.builder.StringAt(key)}
	}
	return im.attributes.set(i, im.builder.Attribute(key, unit, from.Value())), nil
}

// appendAttributes copies a list of attributes, and appends it to list as a sorted set. It leaves out index 0, the zero
// value.
func (im *importer) appendAttributes(list []int32, from pcommon.Int32Slice) ([]int32, error) {
	start := len(list)
	for j := range from.Len() {
		index, err := im.attribute(from.At(j))
		if err != nil {
			return list, err
		}
		if index != 0 {
			list = append(list, index)
		}
	}
	return dictionary.SortSet(list, start), nil
}

// link copies link i and returns its new index.
func (im *importer) link(i int32) (int32, error) {
	index, ok, err := im.links.find(i)
	if ok || err != nil {
		return index, err
	}
	from := im.source.LinkTable().At(int(i))
	return im.links.set(i, im.builder.Link(dictionary.Link{TraceID: from.TraceID(), SpanID: from.SpanID()})), nil
}
