// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/internal/tables"
)

// reservation is the memory that a request has asked for.
type reservation struct {
	reserve func(bytes int64) error
	// message is what the profiles take that were made so far, but for the dictionary.
	message int64
	// body is what the body of the record takes in all its forms, record that and its tables.
	body, record int64
	asked        int64
	// err is the first refusal within the record.
	err error
}

// need asks for so many bytes more, before they are taken, and tells whether it is there.
func (t *decoding) need(bytes int64) bool {
	c := &t.reserved
	if c.reserve == nil || c.err != nil {
		return c.err == nil
	}
	total := c.message + max(c.body, c.record) + t.dict.Bytes() + bytes
	if total <= c.asked {
		return true
	}
	// Where entries come one by one, memory is asked for in steps.
	total += 16<<10 + total/16
	if c.err = c.reserve(total); c.err == nil {
		c.asked = total
	}
	return c.err == nil
}

// memoryRefusal is the refusal of a record that there is no memory for.
func (t *decoding) memoryRefusal() *refusal { return &refusal{ReasonMemory, t.reserved.err} }

// needBody asks for what a form of the body takes beside the forms before it.
func (t *decoding) needBody(bytes int) *refusal {
	if !t.need(int64(bytes)) {
		return t.memoryRefusal()
	}
	t.reserved.body += int64(bytes)
	return nil
}

// What an event takes in working memory while its tables grow, and what a sample takes in the message: an object with the
// pointer to it, a value, a time, and what a list of attributes is rounded up by.
const (
	eventBytes           = 5*(24+8+24) + 24
	sampleBytes          = 8 + 96 + 8 + 8 + 12
	sampleAttributeBytes = 4
	profileBytes         = 1 << 10
	commentBytes         = 80
)

// plan asks for what the sizes of the pprof's tables tell: working memory, the samples of the message and the largest
// dictionary that they can become. Attributes are asked for as they come.
func (t *decoding) plan(columns int) *refusal {
	w, c := &t.wire, &t.reserved
	sizes := dictionary.Sizes{
		Strings: w.NumStrings(), Functions: len(w.Functions), Mappings: len(w.Mappings),
		Locations: len(w.Locations), Stacks: len(w.Samples),
	}
	events := int64(len(w.Samples))
	c.record = c.body + w.Bytes() + tables.Bytes(w) + 20*int64(w.NumStrings()) + 12*events + events*(eventBytes+40*int64(columns))
	message := int64(columns)*(profileBytes+events*sampleBytes+sampleAttributeBytes*t.allLabels()) +
		commentBytes*int64(len(w.Comments)) + t.recordAttributeBytes()
	for _, comment := range w.Comments {
		message += int64(len(w.String(comment)))
	}
	if t.opts.IncludeOriginalPayload {
		message += int64(columns) * int64(len(t.payload))
	}
	c.record += 4 * t.allLabels() // of the events
	text := 3 * int64(w.StringBytes())
	if !t.need(message + 2*sizes.Bytes(len(w.Lines), len(w.LocationIDs)) + text) {
		return t.memoryRefusal()
	}
	c.message += message
	return nil
}

// allLabels returns the number of labels of all samples, those that were not read again included.
func (t *decoding) allLabels() (n int64) {
	for i := range t.wire.Samples {
		own := i
		if other := t.wire.Repeats[i].Labels; other != 0 {
			own = int(other - 1)
		}
		start, end := t.labelsOf(own)
		n += int64(end - start)
	}
	return n
}

// planText asks for what a text record may become.
func (t *decoding) planText() *refusal {
	n := len(t.text.frames)
	sizes := dictionary.Sizes{Strings: 2 * n, Functions: n, Locations: n, Stacks: 1}
	message := t.recordAttributeBytes() + sampleBytes + eventBytes
	if !t.need(message + 64*5*int64(n) + 2*sizes.Bytes(n, n) + 2*int64(len(t.body))) {
		return t.memoryRefusal()
	}
	t.reserved.message += message
	return nil
}

// recordAttributeBytes is about what copies of the record's attributes take.
func (t *decoding) recordAttributeBytes() (bytes int64) {
	for key, value := range t.record.log.Attributes().All() {
		bytes += dictionary.AttributeBytes + int64(len(key)) + valueBytes(value, maxValueDepth)
	}
	return bytes
}

// maxValueDepth is how deep values are looked into.
const maxValueDepth = 32

// valueBytes is about what a copy of a value takes.
func valueBytes(value pcommon.Value, depth int) int64 {
	bytes := int64(40)
	switch {
	case depth == 0:
	case value.Type() == pcommon.ValueTypeStr:
		bytes += int64(len(value.Str()))
	case value.Type() == pcommon.ValueTypeBytes:
		bytes += int64(value.Bytes().Len())
	case value.Type() == pcommon.ValueTypeSlice:
		for _, item := range value.Slice().All() {
			bytes += valueBytes(item, depth-1)
		}
	case value.Type() == pcommon.ValueTypeMap:
		for key, item := range value.Map().All() {
			bytes += int64(len(key)) + valueBytes(item, depth-1)
		}
	}
	return bytes
}
