// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpwire

import "github.com/otelpprof/otelpprof/internal/dictionary"

// messageID is a message of OTLP.
type messageID uint8

const (
	leaf messageID = iota // any message whose fields need no memory of their own
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
	profilesDictionary
	mapping
	location
	stack
	keyValueAndUnit
)

// kind says how the memory of a field is counted.
type kind uint8

const (
	ignored       kind = iota // not at all: the field is skipped
	fixed                     // the same size for each occurrence
	text                      // by length: a string or bytes
	packed                    // for each entry of a list of varints
	packedFixed64             // for each entry of a list of fixed64 numbers
	message                   // by the fields of a submessage
)

// field is one field of a message.
type field struct {
	kind    kind
	message messageID
	// bytes is the size of one occurrence, or of one entry of a packed list.
	bytes uint16
}

const (
	// growthCopies is how many times each entry of a list is counted. When a list grows, its old array exists beside the new
	// one, which is twice as large.
	growthCopies = 3
)

// embedded is a submessage whose struct is a part of its parent's struct.
func embedded(m messageID) field { return field{kind: message, message: m} }

// oneofMessage is a submessage in a oneof. bytes is the size of the wrapper of the oneof and of the submessage.
func oneofMessage(m messageID, bytes uint16) field {
	return field{kind: message, message: m, bytes: bytes}
}

// pointerList is a list of pointers to submessages of this size.
func pointerList(m messageID, bytes uint16) field {
	return field{kind: message, message: m, bytes: bytes + growthCopies*dictionary.PointerSize}
}

// valueList is a list of submessages of this size, without pointers.
func valueList(m messageID, bytes uint16) field {
	return field{kind: message, message: m, bytes: growthCopies * bytes}
}

// varintList is a list of varints that are unmarshalled to numbers of this size.
func varintList(bytes uint16) field { return field{kind: packed, bytes: growthCopies * bytes} }

var (
	stringField = field{kind: text}
	stringList  = field{kind: text, bytes: growthCopies * dictionary.StringSize}
	fixed64List = field{kind: packedFixed64, bytes: growthCopies * 8}
	keyValues   = valueList(keyValue, dictionary.KeyValueSize)
	oneofNumber = field{kind: fixed, bytes: dictionary.NumberSize} // a number in a oneof is allocated separately
)

// deprecatedField is the former number of the field for lists of scopes. pdata still reads it.
const deprecatedField = 1000

// profileHandling is added for each profile, since each becomes a pprof, a file or a request of its own. Without it, a small
// body with many empty profiles would cause minutes of work.
const profileHandling = 16 << 10

// messages has the fields that need memory, by message and field number. The sizes of pdata's structs that no
// profile has are rounded up to Go's size classes.
var messages = [...][]field{
	leaf:             {},
	logsRequest:      {1: pointerList(resourceLogs, 128)},
	tracesRequest:    {1: pointerList(resourceSpans, 128)},
	metricsRequest:   {1: pointerList(resourceMetrics, 128)},
	profilesRequest:  {1: pointerList(resourceProfiles, dictionary.ResourceProfilesSize), 2: embedded(profilesDictionary)},
	resourceLogs:     {1: embedded(resource), 2: pointerList(scopeLogs, 112), 3: stringField, deprecatedField: pointerList(scopeLogs, 112)},
	resourceSpans:    {1: embedded(resource), 2: pointerList(scopeSpans, 112), 3: stringField, deprecatedField: pointerList(scopeSpans, 112)},
	resourceMetrics:  {1: embedded(resource), 2: pointerList(scopeMetrics, 112), 3: stringField, deprecatedField: pointerList(scopeMetrics, 112)},
	resourceProfiles: {1: embedded(resource), 2: pointerList(scopeProfiles, dictionary.ScopeProfilesSize), 3: stringField},
	resource:         {1: keyValues, 3: pointerList(entityRef, dictionary.EntitySize)},
	entityRef:        {1: stringField, 2: stringField, 3: stringList, 4: stringList},
	scope:            {1: stringField, 2: stringField, 3: keyValues},
	scopeLogs:        {1: embedded(scope), 2: pointerList(logRecord, 128), 3: stringField},
	scopeSpans:       {1: embedded(scope), 2: pointerList(span, 224), 3: stringField},
	scopeMetrics:     {1: embedded(scope), 2: pointerList(metric, 96), 3: stringField},
	scopeProfiles:    {1: embedded(scope), 2: pointerList(profile, dictionary.ProfileSize+profileHandling), 3: stringField},

	keyValue: {1: stringField, 2: embedded(anyValue)},
	anyValue: {
		1: {kind: text, bytes: dictionary.StringSize}, 2: oneofNumber, 3: oneofNumber, 4: oneofNumber,
		5: oneofMessage(arrayValue, dictionary.PointerSize+dictionary.ListSize), 6: oneofMessage(keyValueList, dictionary.PointerSize+dictionary.ListSize),
		7: {kind: text, bytes: dictionary.ListSize}, 8: oneofNumber,
	},
	arrayValue:   {1: valueList(anyValue, dictionary.ValueSize)},
	keyValueList: {1: keyValues},

	logRecord: {3: stringField, 5: embedded(anyValue), 6: keyValues, 12: stringField},

	span:       {3: stringField, 5: stringField, 9: keyValues, 11: pointerList(spanEvent, 64), 13: pointerList(spanLink, 80), 15: embedded(spanStatus)},
	spanEvent:  {2: stringField, 3: keyValues},
	spanLink:   {3: stringField, 4: keyValues},
	spanStatus: {2: stringField},

	metric: {
		1: stringField, 2: stringField, 3: stringField, 12: keyValues, 5: oneofMessage(numbers, 8+24), 7: oneofMessage(numbers, 8+32),
		9: oneofMessage(histograms, 8+32), 10: oneofMessage(exponentials, 8+32), 11: oneofMessage(summaries, 8+24),
	},
	numbers:      {1: pointerList(number, 96)},
	histograms:   {1: pointerList(histogram, 160)},
	exponentials: {1: pointerList(exponential, 208)},
	summaries:    {1: pointerList(summary, 96)},
	number:       {4: oneofNumber, 6: oneofNumber, 5: valueList(exemplar, 72), 7: keyValues},
	histogram:    {6: fixed64List, 7: fixed64List, 8: valueList(exemplar, 72), 9: keyValues},
	exponential:  {1: keyValues, 8: embedded(buckets), 9: embedded(buckets), 11: valueList(exemplar, 72)},
	buckets:      {2: varintList(8)},
	summary:      {6: pointerList(leaf, 16), 7: keyValues},
	exemplar:     {3: oneofNumber, 6: oneofNumber, 7: keyValues},

	profile: {2: pointerList(sample, dictionary.SampleSize), 9: stringField, 10: stringField, 11: varintList(4)},
	sample:  {2: varintList(4), 4: varintList(8), 5: fixed64List},
	profilesDictionary: {
		1: pointerList(mapping, dictionary.MappingSize), 2: pointerList(location, dictionary.LocationSize),
		3: pointerList(leaf, dictionary.FunctionSize), 4: pointerList(leaf, dictionary.LinkSize), 5: stringList,
		6: pointerList(keyValueAndUnit, dictionary.AttributeSize), 7: pointerList(stack, dictionary.StackSize),
	},
	mapping:         {5: varintList(4)},
	location:        {3: pointerList(leaf, dictionary.LineSize), 4: varintList(4)},
	stack:           {1: varintList(4)},
	keyValueAndUnit: {2: embedded(anyValue)},
}
