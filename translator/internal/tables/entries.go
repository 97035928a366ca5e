// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"bytes"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// Fill resets the strings, and adds the mappings, functions and locations that samples refer to, table by table, to the dictionary. So mappings
// keep their order: by convention the first is the main binary. If allMappings is true, Fill adds every mapping.
func (t *Tables) Fill(allMappings bool) {
	w := t.wire
	t.strings = scratch.Zeroed(t.strings, w.NumStrings())
	t.texts = scratch.Zeroed(t.texts, w.NumStrings())
	clear(t.longTexts)
	t.functions = scratch.Zeroed(t.functions, len(w.Functions))
	t.Locations = scratch.Zeroed(t.Locations, len(w.Locations))
	t.mappings = scratch.Zeroed(t.mappings, len(w.Mappings))
	t.reachedMappings = scratch.Zeroed(t.reachedMappings, len(w.Mappings))
	for i := range w.Locations {
		if id := w.Locations[i].MappingID; t.reachedLocations[i] && id != 0 {
			if position, found := t.mappingIDs.find(id); found {
				t.reachedMappings[position] = true
			}
		}
	}
	for i := range w.Mappings {
		if allMappings || t.reachedMappings[i] {
			t.mappings[i] = t.addMapping(&w.Mappings[i])
		}
	}
	for i := range w.Locations {
		if t.reachedLocations[i] {
			t.Locations[i] = t.addLocation(i)
		}
	}
}

// MainMapping returns the first mapping with any content, which is the main binary, or nil. alone reports whether samples
// refer to no other mapping; mappings with equal content count as one. Call it after Fill.
func (t *Tables) MainMapping() (main *pprofwire.Mapping, alone bool) {
	var reached *pprofwire.Mapping
	var only int32 // the index of reached in the dictionary
	several := false
	for i := range t.wire.Mappings {
		m := &t.wire.Mappings[i]
		if main == nil && !t.equalMappings(m, &pprofwire.Mapping{}) {
			main = m
		}
		switch index := t.mappings[i]; {
		case !t.reachedMappings[i] || index == 0:
		case reached == nil:
			reached, only = m, index
		default:
			several = several || index != only
		}
	}
	return main, reached != nil && !several && t.equalMappings(main, reached)
}

// equalMappings compares mappings without their ids.
func (t *Tables) equalMappings(a, b *pprofwire.Mapping) bool {
	x, y := *a, *b
	x.ID, x.Filename, x.BuildID = 0, 0, 0
	y.ID, y.Filename, y.BuildID = 0, 0, 0
	return x == y && t.EqualTexts(a.Filename, b.Filename) && t.EqualTexts(a.BuildID, b.BuildID)
}

// EqualTexts compares strings of the payload. 0 means that there is none.
func (t *Tables) EqualTexts(a, b uint32) bool {
	text := func(i uint32) []byte {
		if i == 0 {
			return nil
		}
		return t.rules.Text(i)
	}
	return a == b || bytes.Equal(text(a), text(b))
}

func (t *Tables) addMapping(m *pprofwire.Mapping) int32 {
	t.attributes = t.attributes[:0]
	if id := t.wire.String(m.BuildID); len(id) > 0 && m.BuildID != 0 {
		t.attributes = append(t.attributes, t.TextAttribute(t.dict.String(buildIDKey(id)), m.BuildID))
	}
	t.addTrue(semconv.MappingHasFunctions, m.HasFunctions)
	t.addTrue(semconv.MappingHasFilenames, m.HasFilenames)
	t.addTrue(semconv.MappingHasLineNumbers, m.HasLineNumbers)
	t.addTrue(semconv.MappingHasInlineFrames, m.HasInlineFrames)
	t.attributes = dictionary.SortSet(t.attributes, 0)
	return t.dict.Mapping(dictionary.Mapping{
		Start:    m.Start,
		Limit:    m.Limit,
		Offset:   m.Offset,
		Filename: t.String(m.Filename),
	}, t.attributes)
}

// htlhashDigits is the number of hex digits of an htlhash.
const htlhashDigits = 32

// buildIDKey returns the attribute for a build id. A pprof does not tell its kind, but the kinds have different forms: one of
// Go has slashes, an htlhash has fewer digits than the usual SHA-1 of GNU. A GNU build id that is an MD5 or a UUID has the form of
// an htlhash. It gets the wrong key, and keeps its value: as a GNU id, every htlhash would come back from pprof with the wrong key,
// and executables without a GNU id have nothing else.
func buildIDKey(id []byte) string {
	id = id[:min(len(id), LongText)] // Many mappings can have the same long one.
	switch {
	case bytes.IndexByte(id, '/') >= 0:
		return semconv.MappingBuildIDGo
	case len(id) == htlhashDigits && len(bytes.Trim(id, "0123456789abcdef")) == 0:
		return semconv.MappingBuildIDHTLHash
	default:
		return semconv.MappingBuildID
	}
}

func (t *Tables) addTrue(key string, value bool) {
	if value {
		t.attributes = append(t.attributes, t.dict.TrueAttribute(t.dict.String(key)))
	}
}

func (t *Tables) addLocation(i int) int32 {
	l := &t.wire.Locations[i]
	location := dictionary.Location{Address: l.Address}
	if l.MappingID != 0 {
		if position, found := t.mappingIDs.find(l.MappingID); found {
			location.Mapping = t.mappings[position]
		} else {
			t.UnknownMappings++
		}
	}
	var leaf *pprofwire.Function // of the first line
	t.lines = t.lines[:0]
	lines := t.wire.LinesAt(i)
	for j := range lines {
		function := int32(0)
		if position, found := t.functionIDs.find(lines[j].FunctionID); found {
			if t.functions[position] == 0 {
				t.functions[position] = t.dict.Function(t.rules.Function(&t.wire.Functions[position])) + 1
			}
			function = t.functions[position] - 1
			if j == 0 {
				leaf = &t.wire.Functions[position]
			}
		} else {
			t.NoFunction++
		}
		t.lines = append(t.lines, t.rules.Line(&lines[j], function))
	}
	t.attributes = t.attributes[:0]
	t.addTrue(semconv.LocationIsFolded, l.IsFolded)
	t.attributes = t.rules.LocationAttributes(t.attributes, leaf)
	if len(t.attributes) > 1 {
		t.attributes = dictionary.SortSet(t.attributes, 0)
	}
	return t.dict.Location(location, t.lines, t.attributes)
}
