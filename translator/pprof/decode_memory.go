// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/internal/tables"
)

// reservation is the memory that a translation has asked for.
type reservation struct {
	// reserve is Source.Reserve.
	reserve func(bytes int64) error
	// inflated is the form of the payload after decompression, planned all that follows from the sizes of its tables, grown
	// what comes entry by entry: attributes, links and repaired strings.
	inflated, planned, grown int64
	asked                    int64
	// err is the first refusal. What is translated after it is not handed out.
	err error
}

// ask asks for so many bytes in all.
func (c *reservation) ask(bytes int64) error {
	if c.reserve == nil || c.err != nil || bytes <= c.asked {
		return c.err
	}
	c.asked = bytes
	c.err = c.reserve(bytes)
	return c.err
}

// need asks for so many bytes more than what has grown, before they are taken.
func (c *reservation) need(bytes int64) {
	// Where entries come one by one, memory is asked for in steps.
	if total := c.inflated + c.planned + c.grown + bytes; total > c.asked && c.reserve != nil {
		_ = c.ask(total + 16<<10 + total/16) // c keeps the error.
	}
}

// fail ends the translation with err.
func (c *reservation) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// What a sample takes in the message: an object, the pointer to it, a value, and what a list of attributes is rounded up by.
const (
	sampleBytes          = 8 + 96 + 8
	sampleAttributeBytes = 4
	attributeListBytes   = 12
)

// plan asks for the memory of all that the sizes of the tables tell.
func (t *decoding) plan(payload []byte) error {
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
		t.spendText(int(comments))
	}
	t.message = t.samplesBytes + 2*commentBytes*int64(len(w.Comments)) + messageBytes
	if t.opts.IncludeOriginalPayload {
		t.message += int64(len(payload)) * int64(len(t.types))
	}
	t.reserved.planned = w.Bytes() + tables.Bytes(w) + texts + sizes.Bytes(len(w.Lines), len(w.LocationIDs)) + text + comments + t.message +
		translationBytes
	return t.reserved.ask(t.reserved.inflated + t.reserved.planned)
}

const (
	// commentBytes is what a comment takes but for its text.
	commentBytes = 40
	// messageBytes is what the smallest message takes, translationBytes the same for its translation.
	messageBytes     = 2 << 10
	translationBytes = 48 << 10
)

// kept is the memory that is used again by the next translation.
func (t *decoding) kept() int64 {
	l := &t.labels
	bytes := int64(cap(t.inflated)) + t.wire.Kept() + t.tables.Kept() + 8*int64(cap(t.texts)) +
		4*int64(cap(t.attributes)+cap(l.ofString)) + 64*int64(cap(t.types)) + 48*int64(cap(l.keys)) + 16*int64(cap(l.refs))
	if t.dict != nil {
		bytes += t.dict.Kept()
	}
	return bytes
}
