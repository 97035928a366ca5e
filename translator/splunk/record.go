// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"math"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// isProfilingScope reports whether all records of a scope are profiling records: by its name, or by the source type of
// the scope or resource. Components on the way can remove one of these. ofProfiling is the result of isProfilingResource.
func isProfilingScope(ofProfiling bool, scope pcommon.InstrumentationScope) bool {
	return ofProfiling || scope.Name() == profilingScope || hasSourceType(scope.Attributes(), attributeSourceType)
}

// isProfilingResource reports whether all records of a resource are profiling records. Call it once for each resource, not for each
// of its scopes: there can be many attributes and many scopes.
func isProfilingResource(resource plog.ResourceLogs) bool {
	return hasSourceType(resource.Resource().Attributes(), attributeSourceType)
}

// isProfilingRecord reports whether the attributes of a record identify it as a profiling record.
func isProfilingRecord(record plog.LogRecord) bool {
	return hasSourceType(record.Attributes(), attributeSourceType) ||
		hasSourceType(record.Attributes(), attributeOldSourceType)
}

func hasSourceType(attributes pcommon.Map, key string) bool {
	value, found := attributes.Get(key)
	return found && value.Type() == pcommon.ValueTypeStr && value.Str() == sourceTypeProfiling
}

// RemoveProfiling removes all profiling records from logs, including those that a [Decoder] refuses, and returns their
// number. The other records keep their order. Scopes and resources that become empty are removed.
func RemoveProfiling(logs plog.Logs) (removed int) {
	logs.ResourceLogs().RemoveIf(func(resource plog.ResourceLogs) bool {
		before, ofProfiling := removed, isProfilingResource(resource)
		scopes := resource.ScopeLogs()
		scopes.RemoveIf(func(scope plog.ScopeLogs) bool {
			records, whole := scope.LogRecords(), isProfilingScope(ofProfiling, scope.Scope())
			n := records.Len()
			records.RemoveIf(func(record plog.LogRecord) bool { return whole || isProfilingRecord(record) })
			n -= records.Len()
			removed += n
			return n > 0 && records.Len() == 0
		})
		return removed > before && scopes.Len() == 0
	})
	return removed
}

// record is a profiling record and the attributes of it that have a meaning.
type record struct {
	log plog.LogRecord
	// dataType, format and source are attributes of the record, or "".
	dataType, format, source string
	eventName                string
	// nameAttribute is the attribute with eventName once an event needs it, or 0. A name can be long, and a record has many events.
	nameAttribute int32
	// period is in nanoseconds, or 0 if it is missing or invalid.
	period    int64
	allocated int64
	// hasAllocated is true if the record has the attribute allocated.
	hasAllocated bool
	truncated    bool
	// hasOtherTrace is set for text records. It is computed once, since a record can have many span ids.
	hasOtherTrace bool
}

// readRecord reads the attributes that have a meaning. Of equal keys, the first counts.
func readRecord(log plog.LogRecord, t *decoding) record {
	r := record{log: log}
	hasPeriod := false
	for key, value := range log.Attributes().All() {
		switch key {
		case attributeDataType:
			setText(&r.dataType, value)
		case attributeDataFormat:
			setText(&r.format, value)
		case attributeSource:
			setText(&r.source, value)
		case labelEventName:
			setText(&r.eventName, value)
		case labelEventPeriod:
			if n, ok := numberOf(value); ok && !hasPeriod {
				r.period, hasPeriod = t.millis(n), true
			}
		case attributeAllocated, attributeOldAllocated:
			if n, ok := numberOf(value); ok && !r.hasAllocated {
				r.allocated, r.hasAllocated = n, true
			}
		case semconv.StackTruncated:
			r.truncated = isTrue(attributevalue.Text(value))
		}
	}
	return r
}

// represented reports whether the profile already has the information of an attribute of the record.
func (r *record) represented(key string, value pcommon.Value) bool {
	switch key {
	case attributeSourceType, attributeOldSourceType:
		return value.Type() == pcommon.ValueTypeStr && value.Str() == sourceTypeProfiling
	case attributeDataFormat, attributeFrameCount, labelEventName:
		return true
	case attributeDataType:
		return r.dataType == dataTypeCPU || r.dataType == dataTypeAllocation
	case labelEventPeriod:
		_, number := numberOf(value)
		return number
	default:
		return false
	}
}

// representedByText is the same for a text record, which is a single event.
func (r *record) representedByText(key string, value pcommon.Value) bool {
	switch key {
	case attributeAllocated, attributeOldAllocated:
		_, number := numberOf(value)
		return number
	case attributeDataType, attributeSource, semconv.StackTruncated:
		return true
	default:
		return r.represented(key, value)
	}
}

// isAllocation reports whether the weights are bytes, not time. unit is the unit of the first sample type, or nil.
func (r *record) isAllocation(unit []byte) bool {
	switch r.dataType {
	case dataTypeAllocation:
		return true
	case dataTypeCPU:
		return false
	default:
		return r.hasAllocated || string(unit) == unitBytes || strings.HasPrefix(r.eventName, allocationEvents)
	}
}

// time returns the time of events without a time.
func (r *record) time(t *decoding) uint64 {
	if own := r.ownTime(); own != 0 {
		return own
	}
	t.result.Repairs.NoTime++
	return uint64(t.received)
}

// ownTime returns the time of the record, or 0.
func (r *record) ownTime() uint64 {
	for _, stamp := range []pcommon.Timestamp{r.log.Timestamp(), r.log.ObservedTimestamp()} {
		if stamp > 0 && stamp <= math.MaxInt64 {
			return uint64(stamp)
		}
	}
	return 0
}

func setText(text *string, value pcommon.Value) {
	if *text == "" {
		*text = attributevalue.Text(value)
	}
}

// numberOf returns an int value, which can also be written as text.
func numberOf(value pcommon.Value) (int64, bool) {
	switch value.Type() {
	case pcommon.ValueTypeInt:
		return value.Int(), true
	case pcommon.ValueTypeStr:
		text := strings.TrimSpace(value.Str())
		n, err := strconv.ParseInt(text[:min(len(text), maxNumberText)], 10, 64) // An error has a copy of the text.
		return n, err == nil && len(text) <= maxNumberText
	default:
		return 0, false
	}
}

// nanosPerMilli converts the times and periods of agents.
const nanosPerMilli = 1_000_000

// millis returns n milliseconds in nanoseconds, or 0 if n is negative or the result overflows.
func (t *decoding) millis(n int64) int64 {
	if n < 0 || n > math.MaxInt64/nanosPerMilli {
		t.result.Repairs.IgnoredNumbers++
		return 0
	}
	return n * nanosPerMilli
}

// inNanos converts a time to nanoseconds. It returns 0 if the unit is not one of time, or the result overflows.
func inNanos(n int64, unit []byte) int64 {
	nanos := int64(0)
	switch string(unit) {
	case "nanoseconds", "ns":
		nanos = 1
	case "microseconds", "us":
		nanos = 1000
	case "milliseconds", "ms":
		nanos = nanosPerMilli
	case "seconds", "s":
		nanos = 1000 * nanosPerMilli
	}
	if nanos == 0 || n <= 0 || n > math.MaxInt64/nanos {
		return 0
	}
	return n * nanos
}

func isTrue(text string) bool { return text == "true" || text == "True" }
