// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/internal/profileid"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// valueType is a sample type or period type: strings of the dictionary.
type valueType struct{ name, unit int32 }

type weightKind int

const (
	weighsOne    weightKind = iota // each event counts 1
	weighsPeriod                   // the time that an event represents
	weighsValue                    // a value of the event
)

// weight describes the values of a profile.
type weight struct {
	kind   weightKind
	column int
	valueType
	// timed is true if the events occur periodically.
	timed bool
}

// profileHeader is what all profiles of a record, or of a group of text records, share.
type profileHeader struct {
	scope             *scopeEntry
	ids               profileid.IDs
	attributes        []int32
	droppedAttributes uint32
	original          []byte
	// hasPeriod is true if the pprof has a period.
	hasPeriod  bool
	periodType valueType
	period     int64
	// periodNanos is that period in nanoseconds, or 0 if it is not a time.
	periodNanos int64
}

// defaultWeight returns the weight for events without a sample type. If no event has a weight, events are counted.
func (t *decoding) defaultWeight(e *events, allocation bool) weight {
	switch {
	case allocation && e.hasValues:
		return weight{kind: weighsValue, valueType: t.valueType(typeAllocation, unitBytes)}
	case !allocation && e.longestPeriod > 0:
		return weight{kind: weighsPeriod, valueType: t.valueType(typeCPU, unitNanos), timed: true}
	default:
		return weight{kind: weighsOne, valueType: t.valueType(typeSamples, unitCount)}
	}
}

func (t *decoding) valueType(name, unit string) valueType {
	return valueType{t.dict.String(name), t.dict.String(unit)}
}

// writeProfile writes a profile with the events. first is true for the first profile of its record.
func (t *decoding) writeProfile(e *events, h *profileHeader, w *weight, first bool) {
	profile := t.newProfile(h.scope)
	profile.SampleType().SetTypeStrindex(w.name)
	profile.SampleType().SetUnitStrindex(w.unit)
	pad := uint64(nanosPerMilli)
	if h.periodNanos > 0 {
		pad = max(pad, uint64(h.periodNanos))
	} else if e.longestPeriod > 0 && !e.periodsDiffer {
		pad = max(pad, uint64(e.longestPeriod))
	}
	switch {
	case h.hasPeriod:
		profile.PeriodType().SetTypeStrindex(h.periodType.name)
		profile.PeriodType().SetUnitStrindex(h.periodType.unit)
		profile.SetPeriod(h.period)
	case w.timed && e.longestPeriod > 0:
		// The type is also set without a period: pprofs with and without a period type cannot be merged.
		period := t.valueType(typeCPU, unitNanos)
		profile.PeriodType().SetTypeStrindex(period.name)
		profile.PeriodType().SetUnitStrindex(period.unit)
		if !e.periodsDiffer {
			profile.SetPeriod(e.longestPeriod)
		}
	}
	profile.SetTime(pcommon.Timestamp(e.first))
	profile.SetDurationNano(e.last - e.first + pad)
	profile.SetProfileID(h.ids.Next(t.dict.StringAt(w.name), t.dict.StringAt(w.unit)))
	profile.SetDroppedAttributesCount(h.droppedAttributes)
	if len(h.attributes) > 0 {
		profile.AttributeIndices().FromRaw(h.attributes)
	}
	if h.original != nil {
		profile.SetOriginalPayloadFormat(semconv.OriginalPayloadFormat)
		profile.OriginalPayload().FromRaw(h.original)
	}
	e.write(profile.Samples(), w, first, t.opts.SampleShape)
	t.result.Samples += profile.Samples().Len()
}

// newHash starts the hash for profile ids with the resource, which is hashed once. The caller adds the record.
func newHash(s *scopeEntry) *profileid.Hash {
	r := s.resource
	if r.hash == nil {
		r.hash = profileid.NewHash()
		r.hash.Attributes(r.source.Resource().Attributes())
	}
	return r.hash.Clone()
}

// isNewKey adds the key to the keys of t.attributes, and reports whether it is new. Only then can the attribute be
// created: the dictionary must not have unused entries.
func (t *decoding) isNewKey(key int32) bool {
	isNew := t.keys.add(key)
	if !isNew {
		t.result.Repairs.RepeatedLabels++
	}
	return isNew
}

// addRecordAttributes appends the attributes of the record to t.attributes, except those that the profile already
// represents.
func (t *decoding) addRecordAttributes(represented func(key string, value pcommon.Value) bool) {
	for key, value := range t.record.log.Attributes().All() {
		if represented(key, value) {
			continue
		}
		if index := t.dict.String(t.validString(key)); t.isNewKey(index) {
			t.attributes = append(t.attributes, t.dict.Attribute(index, 0, t.validValue(value)))
		}
	}
}

// addEventName appends the name of the events to t.attributes, if all have the same name.
func (t *decoding) addEventName(e *events) {
	if name := e.finish(); name != 0 && t.isNewKey(t.dict.AttributeAt(name).Key) {
		t.attributes = append(t.attributes, name)
	}
}

// eventName returns the attribute with the name that the record gives its events, or 0.
func (t *decoding) eventName() int32 {
	r := &t.record
	if r.eventName != "" && r.nameAttribute == 0 {
		r.nameAttribute = t.dict.StringAttribute(t.dict.String(labelEventName), t.validString(r.eventName))
	}
	return r.nameAttribute
}

func (t *decoding) validString(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string(t.valid([]byte(s)))
}

// validValue returns value, or its text if it contains a string with invalid UTF-8.
func (t *decoding) validValue(value pcommon.Value) pcommon.Value {
	if isValid(value) {
		return value
	}
	return pcommon.NewValueStr(t.validString(attributevalue.Text(value)))
}

func isValid(value pcommon.Value) bool {
	switch value.Type() {
	case pcommon.ValueTypeStr:
		return utf8.ValidString(value.Str())
	case pcommon.ValueTypeSlice:
		for _, item := range value.Slice().All() {
			if !isValid(item) {
				return false
			}
		}
	case pcommon.ValueTypeMap:
		return areValid(value.Map())
	default:
	}
	return true
}

func areValid(attributes pcommon.Map) bool {
	for key, value := range attributes.All() {
		if !utf8.ValidString(key) || !isValid(value) {
			return false
		}
	}
	return true
}

// sortAttributes returns t.attributes as a sorted list for a profile or sample.
func (t *decoding) sortAttributes() []int32 {
	t.attributes = dictionary.SortSet(t.attributes, 0)
	return t.attributes
}
