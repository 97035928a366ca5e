// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"github.com/otelpprof/otelpprof/internal/memory/size"
	"github.com/otelpprof/otelpprof/translator/jfr/internal/reader"
)

// need is [meter.Meter.Need] beside the dictionary and what is in use. It reports false after an error.
func (t *decoding) need(bytes int64) bool {
	// When a table of the dictionary grows, its old memory is garbage, but may not be free yet.
	return t.meter.Need(growing*t.dict.Bytes()+bytes) == nil
}

// use is need for bytes that stay in use.
func (t *decoding) use(bytes int64) bool { return t.need(bytes) && t.meter.Use(bytes) == nil }

// spendText counts the text of functions and attributes, and reports false above the limit: a few bytes of a recording can repeat a
// long string often.
func (t *decoding) spendText(bytes int) bool {
	t.textBytes += int64(bytes)
	if limit := t.opts.Limits.InflatedBytes; t.textBytes > int64(limit) {
		t.meter.Fail(reader.TooLarge("bytes of text in functions and attributes", int(t.textBytes), limit))
	}
	return t.meter.Err() == nil
}

const (
	// growing is the memory of a growing table as a multiple of its size.
	growing = 2
	// The constants below are sizes in bytes. messageEventBytes is for the value and the time of an event in the message.
	messageEventBytes = 8 + 8
	// sampleBytes is the memory of a sample in the message, with its lists rounded up.
	sampleBytes = size.SampleBytes + 3*16
	// identityBytes is the memory of a sample in Events.Samples while that grows.
	identityBytes = 5*(8+8) + 48
	// threadBytes is the memory of the attributes of a thread in decoding.threads, while that grows.
	threadBytes = 96
	// settingsBytes is the memory of settings in decoding.settings, while that grows, and of the texts of the event.
	settingsBytes = 5*48 + 2*32
	// frameEntryBytes and sampleEntryBytes are the sizes of an entry of decoding.frames and decoding.samples.
	frameEntryBytes  = 32
	sampleEntryBytes = 112
	// messageBytes is the memory of the smallest message, profileBytes that of each of its profiles.
	messageBytes = 2 << 10
	profileBytes = 1 << 10
)
