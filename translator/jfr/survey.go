// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/translator/jfr/internal/reader"
)

// survey counts the events of all chunks, reads their settings, and finds when threads worked on which span. Both can be written after
// the samples that they are for. It reserves the memory for the events.
func (t *decoding) survey() error {
	t.settings = scratch.Zeroed(t.settings, len(t.chunks))
	skipped := map[string]int{}
	for i, chunk := range t.chunks {
		t.openChunk(chunk)
		events := chunk.Events()
		for events.Next() && t.reserved.err == nil {
			if events.Class == nil {
				continue
			}
			typ := eventType(events.Class.Kind)
			t.counts[typ]++
			switch typ {
			case skippedEvent:
				skipped[events.Class.Name]++
			case activeSetting:
				t.settings[i].read(chunk, events.Values())
			case contextAttached, scopeEvent:
				t.addScope(typ, events.Values())
			}
		}
		if err := events.Err(); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(skipped)) {
		t.stats.Skipped = append(t.stats.Skipped, SkippedEvents{strings.Clone(name), skipped[name]})
	}
	completeSettings(t.settings, t.src.Period)
	t.scopes.sort()
	return t.plan()
}

// plan reserves the memory of the lists of events, and begins the lists.
func (t *decoding) plan() error {
	var expected [numKinds]int
	for typ := inNewTLAB; typ < numEventTypes; typ++ {
		expected[plainEvents[typ].kind] += t.counts[typ]
	}
	// Some samples are of the CPU and of the wall clock.
	sampled := t.counts[executionSample] + t.counts[wallClockSample] + t.counts[cpuTimeSample] + t.counts[nativeMethodSample]
	expected[kindCPU] = t.counts[executionSample] + t.counts[cpuTimeSample]
	expected[kindWall] = t.counts[wallClockSample] + t.counts[nativeMethodSample]
	for i := range t.settings {
		if s := &t.settings[i]; s.event == eventWall || s.samplesBoth() || t.counts[cpuTimeSample] > 0 {
			expected[kindCPU], expected[kindWall] = sampled, sampled
		}
	}
	entries := 1 << bits.Len(uint(min(sampled+minEntries, maxEntries)-1))
	bytes, values := int64(messageBytes+sampleEntryBytes*entries), sampled
	for k := range numKinds {
		bytes += int64(expected[k]) * (eventBytes + messageEventBytes*int64(k.columns()))
		if k > kindWall {
			values += k.columns() * expected[k]
		}
	}
	if limit := t.opts.Limits.Samples; values > limit {
		return reader.TooLarge("samples", values, limit)
	}
	t.reserved.fixed += bytes
	if err := t.reserved.ask(); err != nil {
		return err
	}
	t.samples = scratch.Zeroed(t.samples, entries)
	for k := range numKinds {
		t.lists[k].begin(expected[k])
	}
	return nil
}
