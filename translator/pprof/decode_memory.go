// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/internal/tables"
)

// reservation counts the memory that a translation has reserved, in bytes.
type reservation struct {
	// reserve is Source.Reserve.
	reserve func(bytes int64) error
	// inflated is the size of the decompressed payload. planned is what the sizes of the tables require. grown is what
	// was added entry by entry: attributes, links and repaired strings. requested is the largest total that reserve was
	// called with.
	inflated, planned, grown int64
	requested                int64
	// err is the first error. The message is discarded if it is set.
	err error
}

// reserveTotal reserves memory up to a total of this many bytes.
func (c *reservation) reserveTotal(bytes int64) error {
	if c.reserve == nil || c.err != nil || bytes <= c.requested {
		return c.err
	}
	c.requested = bytes
	c.err = c.reserve(bytes)
	return c.err
}

// ensure reserves this many bytes in addition to everything that was counted. Call it before allocating them.
func (c *reservation) ensure(bytes int64) {
	// Entries are added one by one. Reserve memory in larger steps.
	if total := c.inflated + c.planned + c.grown + bytes; total > c.requested && c.reserve != nil {
		_ = c.reserveTotal(total + 16<<10 + total/16) // The error is in c.err.
	}
}

// fail sets the error, unless there is one.
func (c *reservation) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// The size of a sample in the message: the object, its pointer and a value; of an attribute index; and of the overhead of
// a list of them.
const (
	sampleBytes          = 8 + 96 + 8
	sampleAttributeBytes = 4
	attributeListBytes   = 12
)

// reserveTables reserves the memory that the sizes of the tables require.
func (t *decoding) reserveTables(payload []byte) error {
	w := &t.wire
	sizes := dictionary.Sizes{
		Strings:   w.NumStrings(),
		Functions: len(w.Functions),
		Mappings:  len(w.Mappings),
		Locations: len(w.Locations),
		Stacks:    len(w.Samples),
	}
	texts := 16 * int64(w.NumStrings())
	text := int64(w.StringBytes()) + int64(w.StringBytes())/2
	comments := int64(0)
	for _, c := range w.Comments {
		comments += int64(len(w.String(c)))
	}
	if comments > 0 {
		t.countText(int(comments))
	}
	t.message = t.samplesBytes + 2*commentBytes*int64(len(w.Comments)) + messageBytes
	if t.opts.IncludeOriginalPayload {
		t.message += int64(len(payload)) * int64(len(t.types))
	}
	t.reserved.planned = w.Bytes() + tables.Bytes(w) + texts + sizes.Bytes(len(w.Lines), len(w.LocationIDs)) + text + comments + t.message +
		translationBytes
	return t.reserved.reserveTotal(t.reserved.inflated + t.reserved.planned)
}

const (
	// commentBytes is the memory of a comment without its text.
	commentBytes = 40
	// messageBytes is the size of the smallest message, translationBytes the memory for translating it.
	messageBytes     = 2 << 10
	translationBytes = 48 << 10
)

// kept returns the memory that the next translation reuses, in bytes.
func (t *decoding) kept() int64 {
	l := &t.labels
	bytes := int64(cap(t.inflated)) + t.wire.Kept() + t.tables.Kept() + 8*int64(cap(t.texts)) +
		4*int64(cap(t.attributes)+cap(l.ofString)) + 64*int64(cap(t.types)) + 48*int64(cap(l.keys)) + 16*int64(cap(l.refs))
	if t.dict != nil {
		bytes += t.dict.Kept()
	}
	return bytes
}
