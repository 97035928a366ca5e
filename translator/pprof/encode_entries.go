// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// The most bytes that an entry needs in a pprof.
const (
	maxMappingBytes  = 3 + 6 + 3*11 + 6 + 6 + 4*2
	maxLocationBytes = 6 + 6 + 6 + 11 + 2
	maxLineBytes     = 2 + 6 + 11 + 11
	maxFunctionBytes = 2 + 6 + 3*6 + 11
)

// writeEntries appends the locations, functions and mappings that samples refer to to the tail. It returns how many of
// their attributes pprof cannot represent.
func (t *encoding) writeEntries(g *group) (lost int, err error) {
	// Mappings come first, although locations refer to them: their ids follow the order of their table, since pprof takes
	// the first mapping for the main binary.
	locations := t.locals.locations.list
	for _, l := range locations {
		if l != 0 {
			t.locals.mappings.localOrNone(t.importer.source.LocationTable().At(int(l)).MappingIndex())
		}
	}
	if lost, err = t.writeMappings(g); err != nil {
		return 0, err
	}
	for i, l := range locations {
		n, err := t.writeLocation(l, uint64(i+1))
		if err != nil {
			return 0, err
		}
		lost += n
	}
	for i, f := range t.locals.functions.list {
		if err := t.growTail(maxFunctionBytes); err != nil {
			return 0, err
		}
		wire := pprofwire.Function{ID: uint64(i + 1)}
		if f != 0 { // Function 0 has no name.
			function := t.importer.source.FunctionTable().At(int(f))
			wire.Name = t.sourceString(function.NameStrindex())
			wire.SystemName = t.sourceString(function.SystemNameStrindex())
			wire.Filename = t.sourceString(function.FilenameStrindex())
			wire.StartLine = function.StartLine()
		}
		t.tail = pprofwire.AppendFunction(t.tail, wire)
	}
	return lost, nil
}

// growTail ensures capacity for this many bytes in the tail, unless it would exceed the limit.
func (t *encoding) growTail(bytes int) (err error) {
	if cap(t.tail)-len(t.tail) >= bytes {
		return nil
	}
	if err := t.fits(t.joining.size + len(t.tail)); err != nil {
		return err
	}
	t.tail, err = growSlice(&t.memory, t.tail, bytes)
	return err
}

// writeLocation appends a location. Location 0 is empty.
func (t *encoding) writeLocation(l int32, id uint64) (lost int, err error) {
	wire := pprofwire.Location{ID: id}
	t.wireLines = t.wireLines[:0]
	bytes := maxLocationBytes
	if l != 0 {
		location := t.importer.source.LocationTable().At(int(l))
		wire.Address, wire.MappingID = location.Address(), uint64(t.locals.mappings.localOrNone(location.MappingIndex()))
		if attributes := location.AttributeIndices(); attributes.Len() > 0 {
			flags := t.flagsOf(l, attributes)
			wire.IsFolded, lost = flags.folded, flags.lost
		}
		lines := location.Lines()
		bytes += maxLineBytes * lines.Len()
		for i := range lines.Len() {
			line := lines.At(i)
			t.wireLines = append(t.wireLines, pprofwire.Line{
				FunctionID: uint64(t.locals.functions.local(line.FunctionIndex())),
				Line:       line.Line(),
				Column:     line.Column(),
			})
		}
	}
	if err := t.growTail(bytes); err != nil {
		return 0, err
	}
	t.tail = pprofwire.AppendLocation(t.tail, wire, t.wireLines)
	return lost, nil
}

// longList is the length of lists of attributes that are read once for a message, not for each of its pprofs.
const longList = 16

// locationFlags is what the attributes of a location become. lost counts those that become nothing.
type locationFlags struct {
	folded bool
	lost   int
}

func (t *encoding) flagsOf(l int32, attributes pcommon.Int32Slice) (flags locationFlags) {
	if flags, known := t.locationFlags[l]; known {
		return flags
	}
	for _, i := range attributes.All() {
		attribute := t.dict.AttributeAt(t.attribute(i))
		if t.dict.StringAt(attribute.Key) == semconv.LocationIsFolded && attribute.Kind == pcommon.ValueTypeBool {
			flags.folded = attribute.Number != 0
		} else {
			flags.lost++
		}
	}
	if attributes.Len() >= longList {
		scratch.Store(&t.locationFlags, l, flags)
	}
	return flags
}

// sourceString returns the index in the pprof of string i of the message, which has been checked.
func (t *encoding) sourceString(i int32) uint32 {
	index, _ := t.importer.string(i)
	return t.locals.string(index)
}

// attribute returns the index in t.dict of attribute i of the message, which has been checked.
func (t *encoding) attribute(i int32) int32 {
	index, _ := t.importer.attribute(i)
	return index
}
