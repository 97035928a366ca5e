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
	// mappings are those with locations to name, by their index in the dictionary.
	mappings map[int32]*mapping
	// unnamed are the locations to name, in their order.
	unnamed []unnamed
	frames  []index.Frame
	// memory reserves what is needed for the names.
	memory *meter.Meter
}

// unnamed is a location to name. Its frames are some of the message.
type unnamed struct {
	location   int32
	mapping    int32
	begin, end int32
}

// read finds the locations to name.
func (m *message) read(replaceLines bool) {
	locations := m.dictionary.LocationTable()
	for i := range locations.Len() {
		l := locations.At(i)
		at := l.MappingIndex()
		if l.Address() == 0 || at <= 0 || int(at) >= m.dictionary.MappingTable().Len() || l.Lines().Len() > 0 && !replaceLines {
			continue
		}
		if m.mappings[at] == nil {
			if m.mappings == nil {
				m.mappings = map[int32]*mapping{}
			}
			m.mappings[at] = readMapping(m.dictionary, int(at))
		}
		m.unnamed = append(m.unnamed, unnamed{location: int32(i), mapping: at})
	}
}

// acquire gets the indices of all mappings. It waits for those that are pending, at most for maxWait.
func (m *message) acquire(ctx context.Context, store *source.Store, maxWait time.Duration) {
	var pending []<-chan struct{}
	for _, mapping := range m.mappings {
		pending = append(pending, mapping.acquire(store)...)
	}
	if len(pending) == 0 || maxWait == 0 {
		return
	}
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	for _, done := range pending {
		select {
		case <-done:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
	for _, mapping := range m.mappings {
		if mapping.handle == nil {
			mapping.acquire(store)
		}
	}
}

func (m *message) release() {
	for _, mapping := range m.mappings {
		mapping.release()
	}
}

// lookUp finds the frames of all locations, and reserves the memory of their names. A mapping whose index cannot be read has none.
func (m *message) lookUp() error {
	byMapping := map[int32][]int{}
	for i, u := range m.unnamed {
		byMapping[u.mapping] = append(byMapping[u.mapping], i)
	}
	for at, list := range byMapping {
		mapping := m.mappings[at]
		if mapping.handle == nil {
			continue
		}
		var err error
		faulty := mapping.handle.Use(func(table *index.Table) { err = m.lookUpIn(table, mapping.Mapping, list) })
		if err != nil {
			return err
		}
		if faulty != nil {
			mapping.release()
			mapping.result = source.Failed
			for _, i := range list {
				m.unnamed[i].begin, m.unnamed[i].end = 0, 0
			}
		}
	}
	return m.memory.Need(entryBytes * int64(m.dictionary.StringTable().Len()+m.dictionary.FunctionTable().Len()))
}

// The memory of a frame, in the message and while it is made, and of a new function, without its texts. entryBytes is that of an entry of
// the dictionary in a map.
const (
	frameBytes    = 2*20 + 2*64
	functionBytes = 512
	entryBytes    = 64
)

// lookUpIn finds the frames of the locations of one mapping.
func (m *message) lookUpIn(table *index.Table, mapping index.Mapping, list []int) error {
	seen := map[knownFunction]bool{}
	for _, i := range list {
		u := &m.unnamed[i]
		u.begin = int32(len(m.frames))
		address := m.dictionary.LocationTable().At(int(u.location)).Address()
		m.frames = table.Lookup(m.frames, table.Address(mapping, address))
		u.end = int32(len(m.frames))
		bytes := int64(u.end-u.begin) * frameBytes
		for _, frame := range m.frames[u.begin:u.end] {
			if key := (knownFunction{u.mapping, frame.Function, frame.File}); !seen[key] {
				seen[key] = true
				bytes += functionBytes + 2*table.TextBytes(frame)
			}
		}
		if err := m.memory.Use(bytes); err != nil {
			return err
		}
	}
	return nil
}

// results counts the locations by what becomes of them.
func (m *message) results() map[string]int64 {
	counts := map[string]int64{}
	for _, u := range m.unnamed {
		switch mapping := m.mappings[u.mapping]; {
		case len(mapping.binaries) == 0:
			counts[resultNoBuildID]++
		case u.end > u.begin:
			counts[resultNamed]++
		case mapping.handle != nil:
			counts[resultUnknown]++
		default:
			counts[string(mapping.result)]++
		}
	}
	return counts
}
