// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/internal/tables"
)

// The size of a sample in the message: the object, its pointer and a value; of an attribute index; and of the overhead of
// a list of them.
const (
	sampleBytes          = dictionary.SampleMemory + 8
	sampleAttributeBytes = 4
	attributeListBytes   = 12
)

// useTables counts the memory that the sizes of the tables require.
func (t *decoding) useTables(payload []byte) error {
	w := &t.wire
	sizes := dictionary.Lengths{
		dictionary.Strings:   w.NumStrings(),
		dictionary.Functions: len(w.Functions),
		dictionary.Mappings:  len(w.Mappings),
		dictionary.Locations: len(w.Locations),
		dictionary.Stacks:    len(w.Samples),
	}
	if !t.opts.KeepUnreferencedMappings {
		sizes[dictionary.Mappings] = min(sizes[dictionary.Mappings], sizes[dictionary.Locations])
	}
	texts := 8 * int64(w.NumStrings())
	text := int64(w.StringBytes()) + int64(w.StringBytes())/2
	comments := int64(0)
	for _, c := range w.Comments {
		comments += int64(len(w.String(c)))
	}
	if comments > 0 {
		t.countText(int(comments))
	}
	comments += commentBytes * int64(len(w.Comments))
	t.message = t.samplesBytes + commentBytes*int64(len(w.Comments)) + messageBytes
	if t.opts.IncludeOriginalPayload {
		t.message += int64(len(payload)) * int64(len(t.types))
	}
	return t.meter.Use(w.Bytes() + tables.Bytes(w) + texts + sizes.Bytes(len(w.Lines), len(w.LocationIDs)) + text + comments + t.message +
		translationBytes)
}

const (
	// commentBytes is the memory of a comment without its text, in the message and while that is written.
	commentBytes = 40
	// messageBytes is the size of the smallest message, translationBytes the memory for translating it.
	messageBytes     = 2 << 10
	translationBytes = 48 << 10
)

// kept returns the memory that the next translation reuses, in bytes.
func (t *decoding) kept() int64 {
	l := &t.labels
	bytes := int64(cap(t.inflated)) + t.wire.Kept() + t.tables.Kept() +
		4*int64(cap(t.attributes)+cap(l.ofString)) + 64*int64(cap(t.types)) + 48*int64(cap(l.keys)) + 16*int64(cap(l.refs))
	if t.dict != nil {
		bytes += t.dict.Kept()
	}
	return bytes
}
