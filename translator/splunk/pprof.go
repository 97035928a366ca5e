// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// decodePprof translates the pprof in t.inflated. If it is refused, it counts nowhere.
func (t *decoding) decodePprof() *refusal {
	result, used, samples := t.result, t.memory.Used(), t.samplesLeft
	refused := t.translatePprof()
	if refused != nil {
		t.result, t.samplesLeft = result, samples
		t.memory.Set(used)
	}
	return refused
}

// translatePprof checks everything but memory before it adds entries to the dictionary.
func (t *decoding) translatePprof() *refusal {
	w := &t.wire
	defer w.Reset()
	limits := t.opts.Limits.wire(t.samplesLeft)
	limits.Memory = &t.memory.Meter
	if err := w.ReadRepeats(t.inflated, limits); err != nil {
		if t.memory.Err() != nil {
			return t.memoryRefusal()
		}
		return refusalOf(ReasonPprof, err)
	}
	columns, refused := t.checkValues()
	if refused != nil {
		return refused
	}
	if refused := t.needTables(columns); refused != nil {
		return refused
	}
	repeated, err := t.tables.Resolve(w, t.dict, rules{t})
	if err != nil {
		return refusalOf(ReasonPprof, err)
	}
	if t.result.PprofRecords+t.result.TextRecords == 0 {
		// Usually there is only this profile. Its size is an estimate for the capacity, within bounds.
		const most = 1 << 16
		t.dict.Reset(dictionary.Lengths{
			dictionary.Strings:   min(w.NumStrings(), most),
			dictionary.Functions: min(len(w.Functions), most),
			dictionary.Locations: min(len(w.Locations), most),
		})
		t.leftovers = false
	}
	t.samplesLeft -= t.samplesOf(columns)
	t.result.PprofRecords++
	t.result.Repairs.RepeatedEntries += repeated
	t.result.Repairs.UnknownFields += w.UnknownFields

	t.tables.Fill(false)
	t.result.Repairs.UnknownMappings += t.tables.UnknownMappings
	t.events.begin(columns)
	t.addEvents()
	if t.memory.Err() != nil {
		return t.leaveEntries()
	}
	t.result.Events += t.events.len()
	if t.events.len() == 0 {
		t.result.EmptyRecords++
		return nil
	}
	t.result.Repairs.IgnoredNumbers += t.events.correctTimes(t.record.ownTime(), uint64(max(w.DurationNanos, 0)))
	t.writePprof()
	return nil
}

// checkValues returns the number of values of each sample, at least 1. Few agents name sample types. Without sample types
// there is one value, or none.
func (t *decoding) checkValues() (columns int, refused *refusal) {
	w := &t.wire
	columns = 1
	if t.typed() {
		columns = len(w.SampleTypes)
	}
	start := uint32(0)
	for i := range w.Samples {
		end := w.Samples[i].ValuesEnd
		if n := int(end - start); n != 0 && n != columns {
			return 0, refuse(ReasonPprof, "%w: sample %d has %d values, there are %d sample types", pprofwire.ErrMalformed, i, n, len(w.SampleTypes))
		}
		start = end
	}
	if len(w.Samples) > t.samplesLeft/columns {
		return 0, refuse(ReasonTooLarge, "%w: samples: %d of %d sample types each, the limit is %d in all",
			pprofwire.ErrTooLarge, len(w.Samples), columns, t.samplesLeft)
	}
	if t.samplesOf(columns) > t.samplesLeft {
		return 0, refuse(ReasonTooLarge, "%w: attributes of the record: %d for %d sample types each, the limit is %d in all, with the samples",
			pprofwire.ErrTooLarge, t.record.log.Attributes().Len(), columns, t.samplesLeft)
	}
	return columns, nil
}

// samplesOf returns what counts as samples: those of each column, and the attributes of the record, which all profiles but the first repeat.
func (t *decoding) samplesOf(columns int) int {
	return columns*len(t.wire.Samples) + (columns-1)*t.record.log.Attributes().Len()
}

// typed reports whether sample types describe the values.
func (t *decoding) typed() bool { return len(t.wire.SampleTypes) > 0 && len(t.wire.Values) > 0 }

// writePprof writes one profile for each sample type.
func (t *decoding) writePprof() {
	hash := newHash(t.scope)
	hash.Bytes(t.body)
	h := profileHeader{
		scope:             t.scope,
		ids:               hash.IDs(),
		attributes:        t.profileAttributes(),
		droppedAttributes: t.record.log.DroppedAttributesCount(),
	}
	if t.opts.IncludeOriginalPayload {
		h.original = t.payload
	}
	if !t.typed() {
		w := t.defaultWeight(&t.events, t.record.isAllocation(nil))
		t.writeProfile(&t.events, &h, &w, true)
		return
	}
	h.hasPeriod = t.wire.HasPeriodType || t.wire.Period != 0
	h.periodType = valueType{t.tables.String(t.wire.PeriodType.Type), t.tables.String(t.wire.PeriodType.Unit)}
	h.period = t.wire.Period
	h.periodNanos = inNanos(t.wire.Period, t.optional(t.wire.PeriodType.Unit))
	for position, column := range t.columnOrder() {
		w := t.typedWeight(column)
		t.writeProfile(&t.events, &h, &w, position == 0)
	}
}

// profileAttributes returns the attributes of the profile: those of the record and those of the whole pprof.
func (t *decoding) profileAttributes() []int32 {
	w := &t.wire
	t.keys.next()
	t.attributes = t.attributes[:0]
	t.addEventName(&t.events)
	t.addRecordAttributes(t.record.represented)
	t.addTextAttribute(semconv.ProfileDropFrames, w.DropFrames)
	t.addTextAttribute(semconv.ProfileKeepFrames, w.KeepFrames)
	t.addTextAttribute(semconv.ProfileDocURL, w.DocURL)
	t.addComments()
	return t.sortAttributes()
}

func (t *decoding) addTextAttribute(key string, text uint32) {
	if text == 0 {
		return
	}
	if index := t.dict.String(key); t.isNewKey(index) {
		t.attributes = append(t.attributes, t.tables.TextAttribute(index, text))
	}
}

// addComments adds the comments as one attribute: an array of strings.
func (t *decoding) addComments() {
	if len(t.wire.Comments) == 0 {
		return
	}
	key := t.dict.String(semconv.ProfileComment)
	if !t.isNewKey(key) {
		return
	}
	comments := pcommon.NewValueSlice()
	comments.Slice().EnsureCapacity(len(t.wire.Comments))
	mended := map[uint32]string{}
	for _, c := range t.wire.Comments {
		comments.Slice().AppendEmpty().SetStr(t.comment(c, mended))
	}
	t.attributes = append(t.attributes, t.dict.Attribute(key, 0, comments))
}

// comment returns string i of the pprof as valid UTF-8. It mends each string once.
func (t *decoding) comment(i uint32, mended map[uint32]string) string {
	if text, known := mended[i]; known {
		return text
	}
	text := t.wire.String(i)
	if utf8.Valid(text) {
		return string(text)
	}
	mended[i] = string(t.valid(text))
	return mended[i]
}

// columnOrder returns the sample types in the order of the profiles: the default first. By default, this is the last type
// of the pprof.
func (t *decoding) columnOrder() []int {
	w := &t.wire
	first := len(w.SampleTypes) - 1
	if w.DefaultSampleType != 0 {
		name := w.String(w.DefaultSampleType)
		if i := slices.IndexFunc(w.SampleTypes, func(v pprofwire.ValueType) bool {
			return bytes.Equal(w.String(v.Type), name)
		}); i >= 0 {
			first = i
		}
	}
	order := []int{first}
	for i := range w.SampleTypes {
		if i != first {
			order = append(order, i)
		}
	}
	return order
}

// typedWeight returns the weight of a column. It is the sample type; Java's allocations get the name that other profilers
// use.
func (t *decoding) typedWeight(column int) weight {
	v := t.wire.SampleTypes[column]
	allocation := t.record.isAllocation(t.optional(v.Unit))
	w := weight{kind: weighsValue, column: column, timed: !allocation}
	if allocation && string(t.optional(v.Type)) == allocationSampleType {
		w.name = t.dict.String(typeAllocation)
	} else {
		w.name = t.tables.String(v.Type)
	}
	w.unit = t.tables.String(v.Unit)
	return w
}

// optional returns string i of the pprof, or nothing if the reference is not set.
func (t *decoding) optional(i uint32) []byte {
	if i == 0 {
		return nil
	}
	return t.wire.String(i)
}

// valid returns text as valid UTF-8. The result may refer to memory of the text.
func (t *decoding) valid(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	t.result.Repairs.InvalidUTF8++
	return dictionary.ValidText(text)
}
