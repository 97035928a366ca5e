// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesymbolizer // import "github.com/otelpprof/otelpprof/processor/profilesymbolizer"

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/source"
)

// message is a message whose locations are named.
type message struct {
	dictionary pprofile.ProfilesDictionary
	// mappings are those with locations to name, in the order of their first location.
	mappings []*mapping
	// memory reserves what is needed for the names.
	memory *meter.Meter
}

// unnamed is a location to name. Its frames are some of the mapping.
type unnamed struct {
	location   int32
	begin, end int32
}

// read finds the locations to name.
func (m *message) read(replaceLines bool) {
	locations := m.dictionary.LocationTable()
	byIndex := map[int32]*mapping{}
	for i := range locations.Len() {
		l := locations.At(i)
		at := l.MappingIndex()
		if l.Address() == 0 || at <= 0 || int(at) >= m.dictionary.MappingTable().Len() || l.Lines().Len() > 0 && !replaceLines {
			continue
		}
		found := byIndex[at]
		if found == nil {
			found = readMapping(m.dictionary, at)
			byIndex[at] = found
			m.mappings = append(m.mappings, found)
		}
		found.locations = append(found.locations, unnamed{location: int32(i)})
	}
}

// acquire gets the indices of all mappings. It waits for those that are pending, at most for maxWait.
func (m *message) acquire(ctx context.Context, store *source.Store, maxWait time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	for m.acquirePending(ctx, store) && ctx.Err() == nil {
	}
}

// acquirePending gets the indices that are not there yet, waits for those that are pending, and reports whether there were any.
func (m *message) acquirePending(ctx context.Context, store *source.Store) bool {
	var pending []<-chan struct{}
	for _, mapping := range m.mappings {
		if mapping.handle != nil || mapping.result != "" && mapping.result != source.Pending {
			continue
		}
		if done := mapping.acquire(store); mapping.handle == nil && done != nil {
			pending = append(pending, done)
		}
	}
	for _, done := range pending {
		select {
		case <-done:
		case <-ctx.Done():
			return false
		}
	}
	return len(pending) > 0
}

func (m *message) release() {
	for _, mapping := range m.mappings {
		mapping.release()
	}
}

// The memory of a frame, in the message and while it is made, and of a new function, without its texts. entryBytes is that of an entry of
// the dictionary in a map.
const (
	frameBytes    = 2*20 + 2*64
	functionBytes = 512
	entryBytes    = 64
)

// lookUp finds the frames of all locations, and reserves the memory of their names. A mapping whose index cannot be read has none.
func (m *message) lookUp() error {
	for _, mapping := range m.mappings {
		if mapping.handle == nil {
			continue
		}
		var err error
		faulty := mapping.handle.Use(func(table *index.Table) { err = m.lookUpIn(table, mapping) })
		if err != nil {
			return err
		}
		if faulty != nil {
			mapping.fail()
		}
	}
	return m.memory.Need(entryBytes * int64(m.dictionary.StringTable().Len()+m.dictionary.FunctionTable().Len()))
}

// lookUpIn finds the frames of the locations of one mapping.
func (m *message) lookUpIn(table *index.Table, mapping *mapping) error {
	mapping.functions = make(map[knownFunction]int32, len(mapping.locations))
	for i := range mapping.locations {
		u := &mapping.locations[i]
		u.begin = int32(len(mapping.frames))
		address := m.dictionary.LocationTable().At(int(u.location)).Address()
		mapping.frames = table.Lookup(mapping.frames, table.Address(mapping.Mapping, address))
		u.end = int32(len(mapping.frames))
		bytes := int64(u.end-u.begin) * frameBytes
		for _, frame := range mapping.frames[u.begin:u.end] {
			key := knownFunction{frame.Function, frame.File}
			if _, found := mapping.functions[key]; !found {
				mapping.functions[key] = notAdded
				bytes += functionBytes + 2*table.TextBytes(frame)
			}
		}
		if err := m.memory.Use(bytes); err != nil {
			return err
		}
	}
	return nil
}

// write writes the frames of all locations to the dictionary.
func (m *message) write() error {
	functions := 0
	for _, mapping := range m.mappings {
		functions += len(mapping.functions)
	}
	n := newNamer(m.dictionary, functions)
	for _, mapping := range m.mappings {
		if len(mapping.frames) == 0 {
			continue
		}
		if err := mapping.handle.Use(func(table *index.Table) { n.setMapping(mapping, table) }); err != nil {
			return err
		}
	}
	return nil
}

// count adds the locations to the results, by what becomes of them.
func (m *message) count(results *results) {
	for _, mapping := range m.mappings {
		all := int64(len(mapping.locations))
		switch {
		case len(mapping.binaries) == 0:
			results[resultNoBuildID] += all
		case mapping.handle == nil:
			results[resultOf[mapping.result]] += all
		default:
			for _, u := range mapping.locations {
				if u.end > u.begin {
					results[resultNamed]++
				} else {
					results[resultUnknown]++
				}
			}
		}
	}
}
