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
)

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
		case labelTruncated:
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
	case attributeDataType, attributeSource, labelTruncated:
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

func isTrue(text string) bool { return text == "true" || text == "True" }
