// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"github.com/otelpprof/otelpprof/translator/jfr/internal/outline"
)

// reservation is the memory that a translation has reserved.
type reservation struct {
	// reserve is Source.Reserve.
	reserve func(bytes int64) error
	// fixed is what is known before the events are translated: the recording, its outline, the parser, the lists of events.
	// grown is what comes entry by entry beside the dictionary: samples and the text of attributes.
	fixed, grown int64
	asked        int64
	// err is the first refusal. What is translated after it is not returned.
	err error
}

// ask reserves what is fixed.
func (c *reservation) ask() error { return c.total(c.fixed) }

func (c *reservation) total(bytes int64) error {
	if c.reserve == nil || c.err != nil || bytes <= c.asked {
		return c.err
	}
	c.asked = bytes
	c.err = c.reserve(bytes)
	return c.err
}

// need reserves bytes in addition to the dictionary and all that was reserved before.
func (t *decoding) need(bytes int64) bool {
	c := &t.reserved
	if c.reserve == nil || c.err != nil {
		return c.err == nil
	}
	// The tables of the dictionary grow: what they have outgrown is garbage, but perhaps not free yet.
	if total := c.fixed + c.grown + growing*t.dict.Bytes() + bytes; total > c.asked {
		// Where entries come one by one, memory is reserved in steps.
		_ = c.total(total + 16<<10 + total/16) // c keeps the error.
	}
	return c.err == nil
}

// spendText counts text of functions and attributes: few bytes of a recording can repeat a long string often.
func (t *decoding) spendText(bytes int) bool {
	t.textBytes += int64(bytes)
	if limit := t.opts.Limits.InflatedBytes; t.textBytes > int64(limit) && t.reserved.err == nil {
		t.reserved.err = outline.TooLarge("bytes of text in functions and attributes", int(t.textBytes), limit)
	}
	return t.reserved.err == nil
}

const (
	// growing is how many times its size a table takes that grows.
	growing = 2
	// eventBytes is what an event takes in a list, in its order, and when its sample is written. messageEventBytes is for a
	// value and a time in the message.
	eventBytes        = 24 + 4 + 16
	messageEventBytes = 8 + 8
	// sampleBytes is what a sample takes in the message, with its lists rounded up.
	sampleBytes = 8 + 96 + 3*16
	// identityBytes is what its identity takes while the table of them grows.
	identityBytes = 5*(8+8) + 48
	// constantBytes is what the chunk remembers of a stack, a function or a thread.
	constantBytes = 32
	// frameEntryBytes and sampleEntryBytes are what the tables of frames and of observations take for an entry.
	frameEntryBytes  = 32
	sampleEntryBytes = 96
	// messageBytes is what the smallest message takes, profileBytes each of its profiles.
	messageBytes = 2 << 10
	profileBytes = 1 << 10
)

// plan reserves the lists of events, as long as they may become.
func (t *decoding) plan() error {
	bytes := int64(messageBytes)
	expected := t.expectedEvents()
	for k := range numKinds {
		bytes += int64(expected[k]) * (eventBytes + messageEventBytes*int64(k.columns()))
	}
	constants, frames, samples := 0, 0, 0
	for i := range t.recording.Chunks {
		c := &t.recording.Chunks[i]
		constants = max(constants, len(c.Stacks)+c.Methods)
		frames = max(frames, tableSize(2*c.Methods, maxFrameEntries))
		samples = max(samples, tableSize(c.Parsed, maxSampleEntries))
	}
	t.reserved.fixed += bytes + constantBytes*int64(constants) + frameEntryBytes*int64(frames) + sampleEntryBytes*int64(samples)
	if err := t.reserved.ask(); err != nil {
		return err
	}
	for k := range numKinds {
		t.lists[k].begin(expected[k])
	}
	return nil
}

// expectedEvents returns the most events of each kind of profile.
func (t *decoding) expectedEvents() (expected [numKinds]int) {
	of := &t.recording.Events
	for event, k := range kindOf {
		expected[k] += of[event]
	}
	if t.samplesBoth() || t.recording.Settings.Event == eventWall {
		expected[kindWall] += of[outline.ExecutionSample]
	}
	if t.recording.Settings.Event == eventWall {
		expected[kindCPU] += of[outline.WallClockSample]
	}
	return expected
}
