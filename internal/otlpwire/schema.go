// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpwire

// messageID is a message of OTLP.
type messageID uint8

const (
	leaf messageID = iota // a message without anything that takes memory inside
	logsRequest
	tracesRequest
	metricsRequest
	profilesRequest
	resourceLogs
	resourceSpans
	resourceMetrics
	resourceProfiles
	resource
	entityRef
	scope
	scopeLogs
	scopeSpans
	scopeMetrics
	scopeProfiles
	keyValue
	anyValue
	arrayValue
	keyValueList
	logRecord
	span
	spanEvent
	spanLink
	spanStatus
	metric
	numbers    // Gauge and Sum
	histograms // Histogram
	exponentials
	summaries
	number
	histogram
	exponential
	buckets
	summary
	exemplar
	profile
	sample
	dictionary
	mapping
	location
	stack
	keyValueAndUnit
)

// kind says what a field takes memory for.
type kind uint8

const (
	other   kind = iota // nothing: it is skipped, whatever it is
	fixed               // the same for each occurrence
	text                // a string or bytes
	packed              // each entry of a list of varints
	packed8             // each entry of a list of eight bytes each
	message             // a submessage
)

// field is one field of a message.
type field struct {
	kind    kind
	message messageID
	// bytes is what one occurrence takes, or one entry of a packed list.
	bytes uint16
}

const (
	// slots is how often the entry of a list is there while the list grows: in the old array, and in the new one,
	// which has twice the size.
	slots = 3
	// pointerBytes, stringBytes are the sizes of entries of lists.
	pointerBytes = 8
	stringBytes  = 16
)

// one is a submessage that is a part of its parent.
func one(m messageID) field { return field{kind: message, message: m} }

// choice is a submessage of a oneof, with the bytes of both objects.
func choice(m messageID, bytes uint16) field { return field{kind: message, message: m, bytes: bytes} }

// list is a list of pointers to submessages of so many bytes.
func list(m messageID, bytes uint16) field {
	return field{kind: message, message: m, bytes: bytes + slots*pointerBytes}
}

// inline is a list that has the submessages of so many bytes itself.
func inline(m messageID, bytes uint16) field {
	return field{kind: message, message: m, bytes: slots * bytes}
}

// varints is a list of varints that take so many bytes each.
func varints(bytes uint16) field { return field{kind: packed, bytes: slots * bytes} }

var (
	str        = field{kind: text}
	strings    = field{kind: text, bytes: slots * stringBytes}
	eights     = field{kind: packed8, bytes: slots * 8}
	attributes = inline(keyValue, 40)
	number8    = field{kind: fixed, bytes: 8} // a number in a oneof is an object
)

// deprecatedField is the number under which lists of scopes were once sent. pdata still reads it.
const deprecatedField = 1000

// profileHandling is charged for each profile on top of what pdata takes: it becomes a pprof, a file or a request of its own,
// so that a few bytes would be work for minutes.
const profileHandling = 16 << 10

// messages has the fields that take memory, by message and number. The sizes are those of the size classes of Go in which
// the structs of pdata are on 64 bits.
var messages = [...][]field{
	leaf:             {},
	logsRequest:      {1: list(resourceLogs, 128)},
	tracesRequest:    {1: list(resourceSpans, 128)},
	metricsRequest:   {1: list(resourceMetrics, 128)},
	profilesRequest:  {1: list(resourceProfiles, 96), 2: one(dictionary)},
	resourceLogs:     {1: one(resource), 2: list(scopeLogs, 112), 3: str, deprecatedField: list(scopeLogs, 112)},
	resourceSpans:    {1: one(resource), 2: list(scopeSpans, 112), 3: str, deprecatedField: list(scopeSpans, 112)},
	resourceMetrics:  {1: one(resource), 2: list(scopeMetrics, 112), 3: str, deprecatedField: list(scopeMetrics, 112)},
	resourceProfiles: {1: one(resource), 2: list(scopeProfiles, 112), 3: str},
	resource:         {1: attributes, 3: list(entityRef, 80)},
	entityRef:        {1: str, 2: str, 3: strings, 4: strings},
	scope:            {1: str, 2: str, 3: attributes},
	scopeLogs:        {1: one(scope), 2: list(logRecord, 128), 3: str},
	scopeSpans:       {1: one(scope), 2: list(span, 224), 3: str},
	scopeMetrics:     {1: one(scope), 2: list(metric, 96), 3: str},
	scopeProfiles:    {1: one(scope), 2: list(profile, 160+profileHandling), 3: str},

	keyValue: {1: str, 2: one(anyValue)},
	anyValue: {
		1: {kind: text, bytes: 16}, 2: number8, 3: number8, 4: number8,
		5: choice(arrayValue, 8+24), 6: choice(keyValueList, 8+24), 7: {kind: text, bytes: 24}, 8: number8,
	},
	arrayValue:   {1: inline(anyValue, 16)},
	keyValueList: {1: attributes},

	logRecord: {3: str, 5: one(anyValue), 6: attributes, 12: str},

	span:       {3: str, 5: str, 9: attributes, 11: list(spanEvent, 64), 13: list(spanLink, 80), 15: one(spanStatus)},
	spanEvent:  {2: str, 3: attributes},
	spanLink:   {3: str, 4: attributes},
	spanStatus: {2: str},

	metric: {
		1: str, 2: str, 3: str, 12: attributes, 5: choice(numbers, 8+24), 7: choice(numbers, 8+32),
		9: choice(histograms, 8+32), 10: choice(exponentials, 8+32), 11: choice(summaries, 8+24),
	},
	numbers:      {1: list(number, 96)},
	histograms:   {1: list(histogram, 160)},
	exponentials: {1: list(exponential, 208)},
	summaries:    {1: list(summary, 96)},
	number:       {4: number8, 6: number8, 5: inline(exemplar, 72), 7: attributes},
	histogram:    {6: eights, 7: eights, 8: inline(exemplar, 72), 9: attributes},
	exponential:  {1: attributes, 8: one(buckets), 9: one(buckets), 11: inline(exemplar, 72)},
	buckets:      {2: varints(8)},
	summary:      {6: list(leaf, 16), 7: attributes},
	exemplar:     {3: number8, 6: number8, 7: attributes},

	profile: {2: list(sample, 96), 9: str, 10: str, 11: varints(4)},
	sample:  {2: varints(4), 4: varints(8), 5: eights},
	dictionary: {
		1: list(mapping, 64), 2: list(location, 64), 3: list(leaf, 24), 4: list(leaf, 24), 5: strings,
		6: list(keyValueAndUnit, 32), 7: list(stack, 24),
	},
	mapping:         {5: varints(4)},
	location:        {3: list(leaf, 24), 4: varints(4)},
	stack:           {1: varints(4)},
	keyValueAndUnit: {2: one(anyValue)},
}
