// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"fmt"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// maxDescribedLocations bounds how much of a stack a message shows.
const maxDescribedLocations = 16

// stringAt returns the string at index, or what is wrong with the index.
func stringAt(dict pprofile.ProfilesDictionary, index int32) string {
	switch {
	case inRange(index, dict.StringTable().Len()):
		return dict.StringTable().At(int(index))
	case index == 0:
		return ""
	}
	return fmt.Sprintf("<%s[%d]>", stringTable, index)
}

func describeValueType(dict pprofile.ProfilesDictionary, v pprofile.ValueType) string {
	return fmt.Sprintf("%q/%q", stringAt(dict, v.TypeStrindex()), stringAt(dict, v.UnitStrindex()))
}

func (p *flatProfile) describe() string {
	return fmt.Sprintf("%s at %d for %d ns, %s, %d kinds of samples",
		p.fields.SampleType, p.fields.Time, p.fields.Duration, p.attributes, len(p.samples))
}

func describeAttributes(dict pprofile.ProfilesDictionary, indices pcommon.Int32Slice) string {
	texts := make([]string, 0, indices.Len())
	for _, index := range indices.All() {
		if !inRange(index, dict.AttributeTable().Len()) {
			texts = append(texts, fmt.Sprintf("<%s[%d]>", attributeTable, index))
			continue
		}
		kv := dict.AttributeTable().At(int(index))
		if kv.KeyStrindex() == 0 && kv.UnitStrindex() == 0 && kv.Value().Type() == pcommon.ValueTypeEmpty {
			continue
		}
		text := fmt.Sprintf("%s=%s(%v)", stringAt(dict, kv.KeyStrindex()), kv.Value().AsString(), kv.Value().Type())
		if unit := stringAt(dict, kv.UnitStrindex()); unit != "" {
			text += " " + unit
		}
		texts = append(texts, text)
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

// describeLink describes a link, unless it is none.
func describeLink(dict pprofile.ProfilesDictionary, index int32) string {
	if index == 0 || !inRange(index, dict.LinkTable().Len()) {
		return ""
	}
	link := dict.LinkTable().At(int(index))
	return fmt.Sprintf(" link %s/%s", link.TraceID(), link.SpanID())
}

func describeStack(text *strings.Builder, dict pprofile.ProfilesDictionary, index int32) {
	if !inRange(index, dict.StackTable().Len()) {
		fmt.Fprintf(text, "<%s[%d]>", stackTable, index)
		return
	}
	locations := dict.StackTable().At(int(index)).LocationIndices()
	text.WriteString("[")
	for i, location := range locations.All() {
		if i == maxDescribedLocations {
			fmt.Fprintf(text, "... %d locations", locations.Len())
			break
		}
		if i > 0 {
			text.WriteString("; ")
		}
		describeLocation(text, dict, location)
	}
	text.WriteString("]")
}

func describeLocation(text *strings.Builder, dict pprofile.ProfilesDictionary, index int32) {
	if !inRange(index, dict.LocationTable().Len()) {
		fmt.Fprintf(text, "<%s[%d]>", locationTable, index)
		return
	}
	l := dict.LocationTable().At(int(index))
	fmt.Fprintf(text, "%#x", l.Address())
	if m := l.MappingIndex(); m != 0 && inRange(m, dict.MappingTable().Len()) {
		mapping := dict.MappingTable().At(int(m))
		fmt.Fprintf(text, " in %s[%#x-%#x@%#x]%s", stringAt(dict, mapping.FilenameStrindex()), mapping.MemoryStart(),
			mapping.MemoryLimit(), mapping.FileOffset(), describeAttributes(dict, mapping.AttributeIndices()))
	}
	for _, line := range l.Lines().All() {
		if !inRange(line.FunctionIndex(), dict.FunctionTable().Len()) {
			fmt.Fprintf(text, " <%s[%d]>", functionTable, line.FunctionIndex())
			continue
		}
		f := dict.FunctionTable().At(int(line.FunctionIndex()))
		fmt.Fprintf(text, " %s(%s) %s:%d:%d from %d", stringAt(dict, f.NameStrindex()), stringAt(dict, f.SystemNameStrindex()),
			stringAt(dict, f.FilenameStrindex()), line.Line(), line.Column(), f.StartLine())
	}
	if l.AttributeIndices().Len() > 0 {
		text.WriteString(" " + describeAttributes(dict, l.AttributeIndices()))
	}
}
