// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// WriteTo writes all tables to an empty dictionary. The result shares no memory with the Builder, except for strings.
func (b *Builder) WriteTo(dictionary pprofile.ProfilesDictionary) {
	dictionary.StringTable().FromRaw(b.strings)
	functions := dictionary.FunctionTable()
	functions.EnsureCapacity(len(b.functions))
	for i := range b.functions {
		f, to := &b.functions[i], functions.AppendEmpty()
		to.SetNameStrindex(f.Name)
		to.SetSystemNameStrindex(f.SystemName)
		to.SetFilenameStrindex(f.Filename)
		to.SetStartLine(f.StartLine)
	}
	mappings := dictionary.MappingTable()
	mappings.EnsureCapacity(len(b.mappings))
	for i := range b.mappings {
		m, to := &b.mappings[i], mappings.AppendEmpty()
		to.SetMemoryStart(m.Start)
		to.SetMemoryLimit(m.Limit)
		to.SetFileOffset(m.Offset)
		to.SetFilenameStrindex(m.Filename)
		setIndices(to.AttributeIndices(), b.mappingAttributes.at(i))
	}
	b.writeLocations(dictionary.LocationTable())
	stacks := dictionary.StackTable()
	stacks.EnsureCapacity(b.stacks.lists.len())
	for i := range b.stacks.lists.len() {
		setIndices(stacks.AppendEmpty().LocationIndices(), b.stacks.At(int32(i)))
	}
	attributes := dictionary.AttributeTable()
	attributes.EnsureCapacity(len(b.attributes))
	for i := range b.attributes {
		a, to := &b.attributes[i], attributes.AppendEmpty()
		to.SetKeyStrindex(a.Key)
		to.SetUnitStrindex(a.Unit)
		a.writeValue(to.Value())
	}
	links := dictionary.LinkTable()
	links.EnsureCapacity(len(b.links))
	for i := range b.links {
		to := links.AppendEmpty()
		to.SetTraceID(b.links[i].TraceID)
		to.SetSpanID(b.links[i].SpanID)
	}
}

func (b *Builder) writeLocations(table pprofile.LocationSlice) {
	table.EnsureCapacity(len(b.locations))
	for i := range b.locations {
		l, to := &b.locations[i], table.AppendEmpty()
		to.SetAddress(l.Address)
		to.SetMappingIndex(l.Mapping)
		setIndices(to.AttributeIndices(), b.locationAttributes.at(i))
		lines := b.linesAt(int32(i))
		if len(lines) == 0 {
			continue
		}
		toLines := to.Lines()
		toLines.EnsureCapacity(len(lines))
		for j := range lines {
			toLine := toLines.AppendEmpty()
			toLine.SetFunctionIndex(lines[j].Function)
			toLine.SetLine(lines[j].Line)
			toLine.SetColumn(lines[j].Column)
		}
	}
}

func (a *Attribute) writeValue(to pcommon.Value) {
	switch a.Kind {
	case pcommon.ValueTypeStr:
		to.SetStr(a.Text)
	case pcommon.ValueTypeInt:
		to.SetInt(int64(a.Number))
	case pcommon.ValueTypeBool:
		to.SetBool(a.Number != 0)
	case pcommon.ValueTypeDouble:
		to.SetDouble(math.Float64frombits(a.Number))
	case pcommon.ValueTypeBytes, pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
		a.Value.CopyTo(to)
	case pcommon.ValueTypeEmpty:
	}
}

// setIndices fills an empty list.
func setIndices(to pcommon.Int32Slice, indices []int32) {
	if len(indices) > 0 {
		to.Append(indices...)
	}
}
