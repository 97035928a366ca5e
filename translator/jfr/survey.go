// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/translator/internal/message"
)

// survey counts the events of all chunks, reads their settings, and finds when threads worked on which span. Both can be written after
// the samples that they are for.
func (t *decoding) survey() error {
	t.settings = make([]settings, 0, len(t.chunks))
	t.firstSettings = make([]int, 0, len(t.chunks)+1)
	skippedTypes := map[string]int{}
	var values [numKinds]int
	for _, chunk := range t.chunks {
		t.chunk = chunk
		t.firstSettings = append(t.firstSettings, len(t.settings))
		t.settings = append(t.settings, settings{})
		events := chunk.events()
		for events.next() && t.meter.Err() == nil {
			if events.class == nil {
				continue
			}
			e := events.class.event
			t.counts[e.role]++
			switch e.role {
			case skipped:
				skippedTypes[events.class.name]++
			case setting:
				t.addSetting(events.fields())
			case attached, scoped:
				t.addScope(e.role, events.fields())
			case value:
				values[e.kind]++
			}
		}
		if err := events.err; err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(skippedTypes)) {
		t.stats.Skipped = append(t.stats.Skipped, SkippedEvents{strings.Clone(name), skippedTypes[name]})
	}
	t.firstSettings = append(t.firstSettings, len(t.settings))
	completeSettings(t.settings, t.src.Period)
	t.scopes.sort()
	return t.plan(values)
}

// plan begins the lists of events. expected has the number of events with values.
func (t *decoding) plan(expected [numKinds]int) error {
	expected[kindCPU] = t.counts[executionSample] + t.counts[cpuTimeSample] + t.counts[datadogCPUSample]
	expected[kindWall] = t.counts[wallClockSample] + t.counts[nativeMethodSample] + t.counts[datadogWallSample]
	samples := expected[kindCPU] + expected[kindWall]
	values := samples
	for k := kindWall + 1; k < numKinds; k++ {
		values += k.columns() * expected[k]
	}
	if limit := t.opts.Limits.Samples; values > limit {
		return tooLarge("samples", values, limit)
	}
	if t.counts[cpuTimeSample] > 0 || slices.ContainsFunc(t.settings, func(s settings) bool { return s.event == eventWall || s.samplesBoth() }) {
		expected[kindCPU], expected[kindWall] = samples, samples // Some samples are of both, and count once towards the limit.
	}
	entries := 1 << bits.Len(uint(min(samples+minEntries, maxEntries)-1))
	bytes := int64(messageBytes + frameEntryBytes<<frameBits + sampleEntryBytes*entries)
	for k := range numKinds {
		bytes += int64(expected[k]) * (message.EventBytes + messageEventBytes*int64(k.columns()))
	}
	if err := t.meter.Use(bytes); err != nil {
		return err
	}
	t.samples = scratch.Zeroed(t.samples, entries)
	for k := range numKinds {
		t.lists[k].Reset(expected[k])
	}
	return nil
}
