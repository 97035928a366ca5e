// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/translator/internal/message"
	"github.com/otelpprof/otelpprof/translator/internal/tables"
)

// requestMemory counts the memory of a request, in bytes. What the meter has in use is the message so far without its dictionary, and
// the resources, scopes and groups of texts, until the end of the request. Beside that are the record and the dictionary.
type requestMemory struct {
	meter.Meter
	// body is the size of the body in all its forms, record is body plus the tables of the record. Both are for one record.
	body, record int64
}

// memoryRefusal returns the refusal of a record for which there is no memory.
func (t *decoding) memoryRefusal() *refusal { return &refusal{ReasonMemory, t.memory.Err()} }

// leaveEntries refuses a pprof for memory after it has added entries to the dictionary. They are removed at the end, for all records
// together: otherwise, many refused records after a large one would take its time each.
func (t *decoding) leaveEntries() *refusal {
	t.leftovers = true
	t.native, t.resource.frameType = 0, 0 // The next record adds its frame types again.
	return t.memoryRefusal()
}

// needBody is for a form of the body, in addition to the forms before it.
func (t *decoding) needBody(bytes int) *refusal {
	if t.memory.Need(int64(bytes)) != nil {
		return t.memoryRefusal()
	}
	t.memory.body += int64(bytes)
	return nil
}

// resourceBytes and scopeBytes are the sizes of the entries of a resource and a scope, with indices and the beginning of the hash.
// attributeBytes is the memory for hashing an attribute and finding repeated keys.
const (
	resourceBytes  = 1 << 10
	scopeBytes     = 384
	attributeBytes = 160
)

func sizeOfResource(resource plog.ResourceLogs) int64 {
	attributes := resource.Resource().Attributes()
	isMended := !utf8.ValidString(resource.SchemaUrl()) || !areValid(attributes)
	dictionary.ForEachEntityText(resource.Resource(), func(text string, _ func(text string)) { isMended = isMended || !utf8.ValidString(text) })
	return sizeOf(dictionary.ResourceMemory(resource.Resource(), resource.SchemaUrl()), resourceBytes, attributes, isMended)
}

func sizeOfScope(logs plog.ScopeLogs) int64 {
	scope := logs.Scope()
	isMended := !utf8.ValidString(scope.Name()) || !utf8.ValidString(scope.Version()) || !utf8.ValidString(logs.SchemaUrl()) ||
		!areValid(scope.Attributes())
	return sizeOf(dictionary.ScopeMemory(scope, logs.SchemaUrl()), scopeBytes, scope.Attributes(), isMended)
}

// sizeOf returns the memory of a resource or scope, in the message and beside it. If its texts are mended, they can become
// dictionary.ValidFactor times as long, and copies are made on the way.
func sizeOf(message, entry int, attributes pcommon.Map, isMended bool) int64 {
	if isMended {
		message *= 2 * dictionary.ValidFactor
	}
	return int64(message + entry + attributeBytes*attributes.Len())
}

// needContainers is for the resource and the scope of a record, once.
func (t *decoding) needContainers() *refusal {
	scope, resource := &t.scope.size, &t.scope.resource.size
	if t.memory.Use(*resource+*scope) != nil {
		return t.memoryRefusal()
	}
	*resource, *scope = 0, 0
	return nil
}

// eventBytes is the memory of an event while its tables grow. sampleBytes is the size of a sample in the message: the
// object, its pointer, a value, a time, and the overhead of the list of attributes.
const (
	eventBytes           = 5*(24+8+24) + message.EventBytes + message.SampleBytes
	sampleBytes          = dictionary.SampleMemory + 8 + 8 + 12
	sampleAttributeBytes = 4
	profileBytes         = 1 << 10
	groupBytes           = 3 << 9 // a group of texts without its events: index, hash and entry
	commentBytes         = 80
	refusalBytes         = 1 << 9  // a refused record: its error, and its entry in the result while that grows
	mendedBytes          = 96      // a mended comment in the map of [decoding.addComments] while that grows, without its text
	stringBytes          = 12 + 40 // what labels know of a string, and its place in keySet while that grows
)

// needTables is for what the sizes of the pprof's tables require: working memory, the samples of the message, and the largest
// dictionary that can result, without attributes.
func (t *decoding) needTables(columns int) *refusal {
	w, c := &t.wire, &t.memory
	sizes := dictionary.Lengths{
		dictionary.Strings: w.NumStrings(), dictionary.Functions: len(w.Functions), dictionary.Mappings: min(len(w.Mappings), len(w.Locations)),
		dictionary.Locations: len(w.Locations), dictionary.Stacks: len(w.Samples),
	}
	events := int64(len(w.Samples))
	c.record = c.body + w.Bytes() + tables.Bytes(w) + stringBytes*int64(w.NumStrings()) + 12*events + events*(eventBytes+40*int64(columns))
	attributes := t.allLabels() + int64(t.record.log.Attributes().Len()) // of the samples and of the profile
	message := int64(columns)*(profileBytes+events*sampleBytes+sampleAttributeBytes*attributes) + t.commentsBytes() + t.recordAttributeBytes()
	if t.opts.IncludeOriginalPayload {
		message += int64(columns) * int64(len(t.payload))
	}
	c.record += 4 * t.allLabels() // for the events
	text := 3 * int64(w.StringBytes())
	if t.memory.Need(message+2*sizes.Bytes(len(w.Lines), len(w.LocationIDs))+text) != nil {
		return t.memoryRefusal()
	}
	_ = t.memory.Use(message)
	return nil
}

// commentsBytes returns the memory of the comments in the message. If they may have to be mended, it counts the memory for that as well.
// Each string is checked once: a short pprof can repeat a long one.
func (t *decoding) commentsBytes() (bytes int64) {
	w := &t.wire
	factor := int64(1)
	if len(w.Comments) > 0 && !t.allValid() {
		factor = dictionary.ValidFactor
		t.memory.record += mendedBytes*int64(min(len(w.Comments), w.NumStrings())) + 2*dictionary.ValidFactor*int64(w.StringBytes())
	}
	for _, comment := range w.Comments {
		bytes += commentBytes + factor*int64(len(w.String(comment)))
	}
	return bytes
}

// allValid reports whether all strings of the pprof are UTF-8.
func (t *decoding) allValid() bool {
	for i := range t.wire.NumStrings() {
		if !utf8.Valid(t.wire.String(uint32(i))) {
			return false
		}
	}
	return true
}

// allLabels returns the number of labels of all samples. It includes labels that the reader found to repeat earlier ones.
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

// needText is for the translation of a text record, and for its group if that is new.
func (t *decoding) needText(newGroup bool) *refusal {
	n := len(t.text.frames)
	sizes := dictionary.Lengths{dictionary.Strings: 2 * n, dictionary.Functions: n, dictionary.Locations: n, dictionary.Stacks: 1}
	kept := t.recordAttributeBytes() + sampleBytes + eventBytes
	if newGroup {
		kept += profileBytes + groupBytes
	}
	if t.memory.Need(kept+64*5*int64(n)+2*sizes.Bytes(n, n)+2*int64(len(t.body))) != nil {
		return t.memoryRefusal()
	}
	_ = t.memory.Use(kept)
	return nil
}

// recordAttributeBytes returns the approximate memory for copies of the record's attributes.
func (t *decoding) recordAttributeBytes() int64 {
	attributes := t.record.log.Attributes()
	bytes := int64(dictionary.MapMemory(attributes))
	if !areValid(attributes) {
		bytes *= 2 * dictionary.ValidFactor // with the copies that mending makes
	}
	return dictionary.AttributeBytes*int64(attributes.Len()) + bytes
}
