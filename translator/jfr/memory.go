// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"github.com/otelpprof/otelpprof/translator/jfr/internal/reader"
)

// reservation is the memory that a translation has reserved.
type reservation struct {
	// reserve is Source.Reserve.
	reserve func(bytes int64) error
	// All sizes are in bytes. fixed is the memory that is known before the translation of the events: the recording, its classes
	// and constants, the lists of events. grown is the memory that grows with the entries, outside of the dictionary: samples and the
	// text of attributes. asked is the largest total that was passed to reserve.
	fixed, grown, asked int64
	// err is the first refusal: an error of reserve, or of spendText. After it, Decode returns no profiles.
	err error
}

// ask reserves the fixed memory.
func (c *reservation) ask() error { return c.total(c.fixed) }

// total reserves this many bytes in total, unless it has already reserved as many.
func (c *reservation) total(bytes int64) error {
	if c.reserve == nil || c.err != nil || bytes <= c.asked {
		return c.err
	}
	c.asked = bytes
	c.err = c.reserve(bytes)
	return c.err
}

// need reserves bytes in addition to the dictionary and to fixed and grown. It reports false after a refusal.
func (t *decoding) need(bytes int64) bool {
	c := &t.reserved
	if c.reserve == nil || c.err != nil {
		return c.err == nil
	}
	// When a table of the dictionary grows, its old memory is garbage, but may not be free yet.
	if total := c.fixed + c.grown + growing*t.dict.Bytes() + bytes; total > c.asked {
		// Entries come one by one, so it reserves more than needed, in steps.
		_ = c.total(total + 16<<10 + total/16) // c keeps the error.
	}
	return c.err == nil
}

// spendText counts the text of functions and attributes, and reports false above the limit: a few bytes of a recording can repeat a
// long string often.
func (t *decoding) spendText(bytes int) bool {
	t.textBytes += int64(bytes)
	if limit := t.opts.Limits.InflatedBytes; t.textBytes > int64(limit) && t.reserved.err == nil {
		t.reserved.err = reader.TooLarge("bytes of text in functions and attributes", int(t.textBytes), limit)
	}
	return t.reserved.err == nil
}

const (
	// growing is the memory of a growing table as a multiple of its size.
	growing = 2
	// The constants below are sizes in bytes. eventBytes is the memory of an event: in the list, in its order, and while its sample
	// is written. messageEventBytes is for its value and time in the message.
	eventBytes        = 24 + 4 + 16
	messageEventBytes = 8 + 8
	// sampleBytes is the memory of a sample in the message, with its lists rounded up.
	sampleBytes = 8 + 96 + 3*16
	// identityBytes is the memory of a sample in eventList.samples while that grows.
	identityBytes = 5*(8+8) + 48
	// threadBytes is the memory of the attributes of a thread in decoding.threads, while that grows.
	threadBytes = 96
	// frameEntryBytes and sampleEntryBytes are the sizes of an entry of decoding.frames and decoding.samples.
	frameEntryBytes  = 32
	sampleEntryBytes = 112
	// messageBytes is the memory of the smallest message, profileBytes that of each of its profiles.
	messageBytes = 2 << 10
	profileBytes = 1 << 10
)
