// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"time"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/translator/internal/javaframe"
	"github.com/otelpprof/otelpprof/translator/internal/message"
)

// decoding is the working memory of one translation. The next translation uses it again.
type decoding struct {
	opts  *Options
	src   Source
	stats Stats

	inflated, inflatedLabels []byte

	chunks []*chunk
	// settings are those of the chunks, in order. firstSettings has the index of the first ones of each chunk, and their number. counts
	// are the numbers of events of all chunks, by role.
	settings      []settings
	firstSettings []int
	counts        [numRoles]int
	scopes        scopes
	labels        labels

	dict *dictionary.Builder
	// lists have the events of each kind.
	lists [numKinds]message.Events
	// start and end are the time range of the profiles in nanoseconds since 1970: of all events and chunks. end is not part of it.
	start, end uint64
	// periods are the first times between two samples. 0 means that they are not known.
	periods [numKinds]time.Duration

	// chunk is the current chunk, number its number.
	chunk  *chunk
	number int32
	// last is the state of the previous execution sample, and its result of clocksOf.
	last struct {
		settings  *settings
		state     uint64
		cpu, wall bool
	}
	// threads has the attributes of threads. The index of the constant of a thread is its position plus one.
	threads [][]int32
	// frames is a hash table of frames, see decoding.location.
	frames [1 << frameBits]frameEntry
	// samples is a hash table of observations, see decoding.add.
	samples []sampleEntry

	attributes []int32
	text       []byte
	names      javaframe.Normalizer

	meter meter.Meter
	// textBytes is the size of the text of functions and attributes so far, see spendText.
	textBytes int64
}

func (t *decoding) begin(opts *Options, src Source) {
	t.opts, t.src = opts, src
	t.stats = Stats{}
	t.meter = *meter.New(0, src.Reserve)
	// When a table of the dictionary grows, its old memory is garbage, but may not be free yet.
	t.meter.Beside(func() int64 { return growing * t.dict.Bytes() })
	t.textBytes = 0
	clear(t.frames[:])
	t.start, t.end = ^uint64(0), 0
	t.counts, t.periods = [numRoles]int{}, [numKinds]time.Duration{}
}

// release drops all references to the caller's data, and returns the size of the memory that it keeps, in bytes.
func (t *decoding) release() (bytes int) {
	t.src, t.stats, t.chunks, t.chunk, t.labels = Source{}, Stats{}, nil, nil, labels{}
	inflate.Free(&t.inflated)
	inflate.Free(&t.inflatedLabels)
	t.last.settings = nil
	t.settings, t.firstSettings, t.scopes, t.threads = nil, nil, scopes{}, nil
	t.meter = meter.Meter{}
	t.dict.Reset(dictionary.Lengths{})
	bytes = cap(t.inflated) + cap(t.inflatedLabels) + cap(t.text) + scratch.Bytes(t.samples) + frameEntryBytes<<frameBits + scratch.Bytes(t.attributes) + int(t.dict.Kept())
	for i := range t.lists {
		bytes += t.lists[i].Kept()
	}
	return bytes
}

// spendText counts the text of functions and attributes, and reports false above the limit: a few bytes of a recording can repeat a
// long string often.
func (t *decoding) spendText(bytes int) bool {
	t.textBytes += int64(bytes)
	if limit := t.opts.Limits.InflatedBytes; t.textBytes > int64(limit) {
		t.meter.Fail(tooLarge("bytes of text in functions and attributes", int(t.textBytes), limit))
	}
	return t.meter.Err() == nil
}

const (
	// growing is the memory of a growing table as a multiple of its size.
	growing = 2
	// The constants below are sizes in bytes. messageEventBytes is for the value and the time of an event in the message.
	messageEventBytes = 8 + 8
	// sampleBytes is the memory of a sample in the message, with its lists rounded up.
	sampleBytes = dictionary.SampleMemory + 3*16
	// identityBytes is the memory of a sample in Events.Samples while that grows.
	identityBytes = 5*(8+8) + 48
	// threadBytes is the memory of the attributes of a thread in decoding.threads, while that grows.
	threadBytes = 96
	// settingsBytes is the memory of settings in decoding.settings, while that grows, and of the texts of the event.
	settingsBytes = 5*48 + 2*32
	// frameEntryBytes and sampleEntryBytes are the sizes of an entry of decoding.frames and decoding.samples.
	frameEntryBytes  = 32
	sampleEntryBytes = 112
	// messageBytes is the memory of the smallest message.
	messageBytes = 2 << 10
)

// inflate returns the decompressed payload or labels, and the size for the statistics. what names them in errors.
func (t *decoding) inflate(buffer *[]byte, payload []byte, what string) (plain []byte, size int, err error) {
	named := inflate.Payload{Name: what, Malformed: ErrMalformed, TooLarge: ErrTooLarge}
	return named.Open(buffer, payload, t.opts.Limits.InflatedBytes, &t.meter)
}
