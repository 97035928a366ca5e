// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesymbolizer // import "github.com/otelpprof/otelpprof/processor/profilesymbolizer"

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/source"
)

const (
	// buildIDPrefix and a [source.Kind] are the attribute of a mapping with its build id.
	buildIDPrefix     = "process.executable.build_id."
	attributeIsFolded = "pprof.location.is_folded"
)

// mapping is a mapping of a message that has locations to name.
type mapping struct {
	index.Mapping
	// index is that in the dictionary.
	index int32
	// binaries are those of its build ids, the best first.
	binaries []source.Binary
	// handle is the index of the first binary that has one, and result why there is none.
	handle *source.Handle
	result source.Result

	locations []unnamed
}

// readMapping returns a mapping of the dictionary.
func readMapping(dictionary pprofile.ProfilesDictionary, at int32) *mapping {
	m := dictionary.MappingTable().At(int(at))
	read := &mapping{Mapping: index.Mapping{Start: m.MemoryStart(), Limit: m.MemoryLimit(), Offset: m.FileOffset()}, index: at}
	kinds := [...]source.Kind{source.GNU, source.Go, source.HTLHash} // the best first
	var ids [len(kinds)]string
	for _, a := range m.AttributeIndices().All() {
		key, value, ok := attributeAt(dictionary, a)
		kind, isID := strings.CutPrefix(key, buildIDPrefix)
		if i := slices.Index(kinds[:], source.Kind(kind)); ok && isID && i >= 0 && value.Type() == pcommon.ValueTypeStr {
			ids[i] = value.Str()
		}
	}
	for i, id := range ids {
		if b, ok := (source.Binary{Kind: kinds[i], ID: id, Path: textAt(dictionary, m.FilenameStrindex())}).Normalize(); ok {
			read.binaries = append(read.binaries, b)
		}
	}
	return read
}

// attributeAt returns an attribute of the dictionary, unless it has none.
func attributeAt(dictionary pprofile.ProfilesDictionary, i int32) (key string, value pcommon.Value, ok bool) {
	if i <= 0 || int(i) >= dictionary.AttributeTable().Len() {
		return "", value, false
	}
	a := dictionary.AttributeTable().At(int(i))
	return textAt(dictionary, a.KeyStrindex()), a.Value(), true
}

func textAt(dictionary pprofile.ProfilesDictionary, i int32) string {
	if i < 0 || int(i) >= dictionary.StringTable().Len() {
		return ""
	}
	return dictionary.StringTable().At(int(i))
}

// acquire gets the index of the mapping: that of its first build id for which there is one. If one is pending, the next ones may not be
// needed: it returns the channel of the pending one, if it has one.
func (m *mapping) acquire(store *source.Store) (pending <-chan struct{}) {
	for _, b := range m.binaries {
		handle, result, done := store.Acquire(b)
		if handle != nil || result == source.Pending {
			m.handle, m.result = handle, result
			return done
		}
		// Of several build ids, one that failed tells more than one that is missing.
		if m.result == "" || m.result == source.Pending || m.result == source.Missing {
			m.result = result
		}
	}
	return nil
}

func (m *mapping) release() {
	if m.handle != nil {
		m.handle.Release()
		m.handle = nil
	}
}

// fail notes that the index cannot be read.
func (m *mapping) fail() {
	m.release()
	m.result = source.Failed
	for i := range m.locations {
		m.locations[i].begin, m.locations[i].end = 0, 0
	}
}
