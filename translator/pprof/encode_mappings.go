// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// buildIDs are the attributes with the build id of a mapping, in the order of preference.
var buildIDs = []string{semconv.MappingBuildID, semconv.MappingBuildIDGo, semconv.MappingBuildIDHTLHash}

// writeMappings appends the mappings that samples refer to, and returns how many of their attributes pprof cannot
// represent. If the profiles of the group have an attribute with the main binary, it comes first, even if no sample
// refers to it.
func (t *encoding) writeMappings(g *group) (lost int, err error) {
	var main pprofwire.Mapping
	named, first := false, int32(0)
	for _, i := range t.sets.At(g.key.attributes) {
		if a := t.dict.AttributeAt(i); t.isMainMapping(a) {
			main, named = t.mappingOf(a.Value.Map()), true
			break
		}
	}
	if named {
		if first, err = t.findMapping(&main); err != nil {
			return 0, err
		}
	}
	if named && first == 0 {
		if err := t.growTail(maxMappingBytes); err != nil {
			return 0, err
		}
		main.ID = 1
		t.tail = pprofwire.AppendMapping(t.tail, main)
	}
	for _, m := range t.locals.numberMappings(first, uint32(main.ID)) {
		if err := t.growTail(maxMappingBytes); err != nil {
			return 0, err
		}
		mapping, n, err := t.mapping(m)
		if err != nil {
			return 0, err
		}
		mapping.ID = uint64(t.locals.mappings.local(m))
		t.tail = pprofwire.AppendMapping(t.tail, mapping)
		lost += n
	}
	return lost, nil
}

// findMapping returns the mapping with this content that samples refer to, or 0.
func (t *encoding) findMapping(wanted *pprofwire.Mapping) (int32, error) {
	for _, m := range t.locals.mappings.list {
		if mapping, _, err := t.mapping(m); err != nil || mapping == *wanted {
			return m, err
		}
	}
	return 0, nil
}

// mapping returns a mapping without id, and how many of its attributes pprof cannot represent.
func (t *encoding) mapping(m int32) (wire pprofwire.Mapping, lost int, err error) {
	mapping := t.importer.source.MappingTable().At(int(m))
	parts, known := t.mappingParts[m]
	if !known {
		if parts, err = t.partsOf(mapping.AttributeIndices()); err != nil {
			return wire, 0, err
		}
		if mapping.AttributeIndices().Len() >= longList {
			scratch.Store(&t.mappingParts, m, parts)
		}
	}
	wire = parts.flags
	wire.Start, wire.Limit, wire.Offset = mapping.MemoryStart(), mapping.MemoryLimit(), mapping.FileOffset()
	wire.Filename, wire.BuildID = t.sourceString(mapping.FilenameStrindex()), t.locals.string(parts.buildID)
	return wire, parts.lost, nil
}

// mappingParts is what the attributes of a mapping become. buildID is a string of encoding.dict. lost counts those that become nothing.
type mappingParts struct {
	flags   pprofwire.Mapping
	buildID int32
	lost    int
}

func (t *encoding) partsOf(attributes pcommon.Int32Slice) (parts mappingParts, err error) {
	best, buildID := len(buildIDs), int32(0)
	for _, i := range attributes.All() {
		index := t.attribute(i)
		a := t.dict.AttributeAt(index)
		key := t.dict.StringAt(a.Key)
		rank := slices.Index(buildIDs, key)
		switch {
		case rank < 0 || a.Kind != pcommon.ValueTypeStr:
			if !setMappingFlag(&parts.flags, key, a) {
				parts.lost++
			}
		case a.Text == "":
			// It says that there is none.
		default:
			if best < len(buildIDs) {
				parts.lost++ // one of the two
			}
			if rank < best {
				best, buildID = rank, index
			}
		}
	}
	if buildID != 0 {
		parts.buildID, err = t.text(buildID)
	}
	return parts, err
}

// setMappingFlag sets the flag that an attribute represents, if there is one.
func setMappingFlag(m *pprofwire.Mapping, key string, a dictionary.Attribute) bool {
	if a.Kind != pcommon.ValueTypeBool {
		return false
	}
	switch key {
	case semconv.MappingHasFunctions:
		m.HasFunctions = a.Number != 0
	case semconv.MappingHasFilenames:
		m.HasFilenames = a.Number != 0
	case semconv.MappingHasLineNumbers:
		m.HasLineNumbers = a.Number != 0
	case semconv.MappingHasInlineFrames:
		m.HasInlineFrames = a.Number != 0
	default:
		return false
	}
	return true
}

// isMainMapping reports whether an attribute has the main binary. A larger map was not written by this package.
func (t *encoding) isMainMapping(a dictionary.Attribute) bool {
	return a.Kind == pcommon.ValueTypeMap && a.Value.Map().Len() <= semconv.NumMainKeys &&
		t.dict.StringAt(a.Key) == semconv.ProfileMainMapping
}

// mappingOf returns the mapping that a map represents, without id. Unknown keys are ignored.
func (t *encoding) mappingOf(fields pcommon.Map) (m pprofwire.Mapping) {
	for key, value := range fields.All() {
		switch key {
		case semconv.MainFilename:
			m.Filename = t.localText(value.Str())
		case semconv.MainBuildID:
			m.BuildID = t.localText(value.Str())
		case semconv.MainMemoryStart:
			m.Start = uint64(value.Int())
		case semconv.MainMemoryLimit:
			m.Limit = uint64(value.Int())
		case semconv.MainFileOffset:
			m.Offset = uint64(value.Int())
		case semconv.MainHasFunctions:
			m.HasFunctions = value.Bool()
		case semconv.MainHasFilenames:
			m.HasFilenames = value.Bool()
		case semconv.MainHasLineNumbers:
			m.HasLineNumbers = value.Bool()
		case semconv.MainHasInlineFrames:
			m.HasInlineFrames = value.Bool()
		}
	}
	return m
}
