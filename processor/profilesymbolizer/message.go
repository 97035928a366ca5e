// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesymbolizer // import "github.com/otelpprof/otelpprof/processor/profilesymbolizer"

import (
	"context"
	"slices"
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
	frames   []index.Frame // of all mappings; the function is the number of one of the names
	names    *names
	// memory counts the names.
	memory *meter.Meter
}

// unnamed is a location to name. Its frames are some of the message.
type unnamed struct {
	location   int32
	begin, end int32
}

// read finds the locations to name.
func (m *message) read(replaceLines bool) {
	locations := m.dictionary.LocationTable()
	byIndex := make([]*mapping, m.dictionary.MappingTable().Len())
	for i := range locations.Len() {
		l := locations.At(i)
		at := l.MappingIndex()
		if l.Address() == 0 || at <= 0 || int(at) >= len(byIndex) || l.Lines().Len() > 0 && !replaceLines {
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
	pending := m.acquireReady(store)
	if len(pending) == 0 || maxWait == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	for ; len(pending) > 0; pending = m.acquireReady(store) {
		for _, done := range pending {
			select {
			case <-done:
			case <-ctx.Done():
				return
			}
		}
	}
}

// acquireReady gets the indices that are there, and returns the channels of those that are pending.
func (m *message) acquireReady(store *source.Store) (pending []<-chan struct{}) {
	for _, mapping := range m.mappings {
		if mapping.handle != nil || mapping.result != "" && mapping.result != source.Pending {
			continue
		}
		if done := mapping.acquire(store); mapping.handle == nil && done != nil {
			pending = append(pending, done)
		}
	}
	return pending
}

func (m *message) release() {
	if m.names != nil {
		m.names.release()
	}
	for _, mapping := range m.mappings {
		mapping.release()
	}
}

// The memory of a frame, in the message and while it is made, and of a new function, without its texts.
const (
	frameBytes    = 2*20 + 2*64
	functionBytes = 512
)

// lookUp finds the frames of all locations, and counts the memory of their names. A mapping whose index cannot be read has none.
func (m *message) lookUp() error {
	m.names = pool.Get().(*names)
	for _, mapping := range m.mappings {
		if mapping.handle == nil {
			continue
		}
		functions := len(m.names.functions)
		var err error
		faulty := mapping.handle.Use(func(table *index.Table) { err = m.lookUpIn(table, mapping) })
		if err != nil {
			return err
		}
		if faulty != nil {
			mapping.fail()
			m.names.functions = m.names.functions[:functions]
		}
	}
	return nil
}

// lookUpIn finds the frames of the locations of one mapping.
func (m *message) lookUpIn(table *index.Table, mapping *mapping) error {
	for i := range mapping.locations {
		u := &mapping.locations[i]
		begin := len(m.frames)
		location := m.dictionary.LocationTable().At(int(u.location))
		m.frames = table.Lookup(m.frames, table.Address(mapping.Mapping, location.Address()))
		if location.Lines().Len() > 0 && !slices.ContainsFunc(m.frames[begin:], func(f index.Frame) bool { return f.Line > 0 }) {
			m.frames = m.frames[:begin] // What the location has can be more than a name.
		}
		u.begin, u.end = int32(begin), int32(len(m.frames))
		if err := m.memory.Use(int64(len(m.frames)-begin) * frameBytes); err != nil {
			return err
		}
		for i := begin; i < len(m.frames); i++ {
			if err := m.name(table, mapping, &m.frames[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// name replaces the function of a frame by the number of one of the names.
func (m *message) name(table *index.Table, mapping *mapping, frame *index.Frame) error {
	key := knownFunction{mapping.index, frame.Function, frame.File}
	number, found := m.names.known[key]
	if !found {
		f := table.Names(*frame)
		if err := m.memory.Use(functionBytes + 2*int64(len(f.Name)+len(f.SystemName)+len(f.Filename))); err != nil {
			return err
		}
		number = m.names.add(key, f)
	}
	frame.Function = number
	return nil
}

// count returns how many locations have each result.
func (m *message) count() map[source.Result]int64 {
	counts := map[source.Result]int64{}
	for _, mapping := range m.mappings {
		all := int64(len(mapping.locations))
		switch {
		case len(mapping.binaries) == 0:
			counts[resultNoBuildID] += all
		case mapping.handle == nil:
			counts[mapping.result] += all
		default:
			named := int64(0)
			for _, u := range mapping.locations {
				if u.end > u.begin {
					named++
				}
			}
			counts[resultNamed] += named
			counts[resultUnknown] += all - named
		}
	}
	return counts
}
