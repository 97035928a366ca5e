// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"slices"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/internal/profileid"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// groupKey identifies the text records of a scope that become one profile.
type groupKey struct {
	dataType   string
	allocation bool
	source     string
	period     int64
}

// textGroup is a profile of text records that is being built.
type textGroup struct {
	key               groupKey
	scope             *scopeEntry
	hash              *profileid.Hash
	events            events
	droppedAttributes uint32
}

// addGroup adds a group, in the memory of one of an earlier request if there is one.
func (t *decoding) addGroup(key groupKey, scope *scopeEntry) *textGroup {
	n := len(t.groups)
	if t.groups = slices.Grow(t.groups, 1)[:n+1]; t.groups[n] == nil {
		t.groups[n] = &textGroup{}
	}
	g := t.groups[n]
	g.key, g.scope, g.hash, g.droppedAttributes = key, scope, newHash(scope), 0
	g.events.begin(1)
	return g
}

// decodeText adds the stack in the body as an event. It checks everything before it adds entries to the dictionary.
func (t *decoding) decodeText() *refusal {
	if t.samplesLeft <= 0 {
		return tooLarge("samples of the request", t.opts.Limits.Samples+1, t.opts.Limits.Samples)
	}
	if !utf8.Valid(t.body) {
		if refused := t.needBody(dictionary.ValidFactor * len(t.body)); refused != nil {
			return refused
		}
		t.body = t.valid(t.body)
	}
	if refused := t.text.parse(t.body, t.resource.language.grammar, maxStringBytes, t.opts.Limits.FramesPerStack); refused != nil {
		return refused
	}
	key := t.record.groupKey()
	if refused := t.needText(t.scope.groups[key] == nil); refused != nil {
		return refused
	}
	t.result.TextRecords++
	t.result.Repairs.SkippedLines += t.text.skipped
	if len(t.text.frames) == 0 && t.opts.DropEmptyStacks {
		t.result.EmptyRecords++
		return nil
	}
	t.samplesLeft--
	t.result.Events++
	t.addText(t.group(key))
	return nil
}

// groupKey returns the key of the group of a text record.
func (r *record) groupKey() groupKey {
	key := groupKey{dataType: r.dataType, allocation: r.isAllocation(nil), source: r.source, period: r.period}
	if key.dataType == dataTypeCPU || key.dataType == dataTypeAllocation {
		key.dataType = "" // It only repeats the kind of the weights.
	}
	return key
}

// group returns the group with this key.
func (t *decoding) group(key groupKey) *textGroup {
	g := t.scope.groups[key]
	if g == nil {
		if t.scope.groups == nil {
			t.scope.groups = map[groupKey]*textGroup{}
		}
		g = t.addGroup(key, t.scope)
		t.scope.groups[key] = g
	}
	return g
}

// addText adds the record to its group.
func (t *decoding) addText(g *textGroup) {
	log := t.record.log
	trace, span := log.TraceID(), log.SpanID()
	g.droppedAttributes += log.DroppedAttributesCount()
	g.hash.Bytes(t.body)
	g.hash.Bytes(trace[:])
	g.hash.Bytes(span[:])
	g.hash.Number(uint64(log.Timestamp()))

	e := event{time: t.record.time(t), period: t.record.period, stack: t.textStack(), name: t.eventName()}
	t.keys.next()
	t.attributes = t.attributes[:0]
	e.link = t.textLink(trace, span)
	t.record.hasOtherTrace = t.hasOtherTrace(e.link)
	t.addTextThread()
	t.addRecordAttributes(func(key string, value pcommon.Value) bool {
		return t.record.representedByText(key, value) || t.isInLink(e.link, key, value) || t.isOtherID(e.link, key, value)
	})
	t.addOtherIDs(e.link, span)
	var values []int64
	if t.record.hasAllocated {
		values = []int64{t.record.allocated}
	}
	g.events.add(&e, g.events.number(&e, t.sortAttributes()), values)
}

// addTextThread adds the thread in the text, with the keys that the labels of a pprof have. These are the first
// attributes of the sample, so their keys are new.
func (t *decoding) addTextThread() {
	x := &t.text
	if x.threadID != 0 && x.threadID != -1 {
		t.attributes = append(t.attributes, t.dict.IntAttribute(t.textKey(semconv.ThreadID), 0, x.threadID))
	}
	if x.osThreadID != 0 {
		t.attributes = append(t.attributes, t.dict.IntAttribute(t.textKey(semconv.ThreadOSID), 0, x.osThreadID))
	}
	if len(x.threadName) > 0 {
		t.attributes = append(t.attributes, t.dict.StringBytesAttribute(t.textKey(semconv.ThreadName), x.threadName))
	}
	if isJVMState := t.hasJVMStates() && t.addJVMState(x.threadState); len(x.threadState) > 0 && !isJVMState {
		t.attributes = append(t.attributes, t.dict.StringBytesAttribute(t.textKey(semconv.ThreadState), x.threadState))
	}
	if t.record.truncated {
		t.attributes = append(t.attributes, t.dict.TrueAttribute(t.textKey(semconv.StackTruncated)))
	}
}

// textKey adds a key to the dictionary and to the keys of the sample.
func (t *decoding) textKey(key string) int32 {
	index := t.dict.String(key)
	t.keys.add(index)
	return index
}

// textStack adds the frames of the text to the dictionary.
func (t *decoding) textStack() int32 {
	t.stack = t.stack[:0]
	for i := range t.text.frames {
		f := &t.text.frames[i]
		name := f.function
		if !t.opts.KeepGeneratedNames {
			name = t.functions.Name(name)
		}
		function := dictionary.Function{Name: t.dict.StringBytes(name)}
		if !isNoFile(f.file) {
			function.Filename = t.dict.StringBytes(f.file)
		}
		if function == (dictionary.Function{}) {
			function.Name = t.dict.String(anonymousFunction)
		}
		t.lines = append(t.lines[:0], dictionary.Line{Function: t.dict.Function(function), Line: f.line, Column: f.column})
		t.attributes = t.attributes[:0]
		if frameType := t.frameType(isNative(f.function, f.file)); frameType >= 0 {
			t.attributes = append(t.attributes, frameType)
		}
		t.stack = append(t.stack, t.dict.Location(dictionary.Location{}, t.lines, t.attributes))
	}
	return t.dict.Stack(t.stack)
}

// finishTexts writes the profiles of the groups.
func (t *decoding) finishTexts() {
	for _, g := range t.groups {
		t.resource = g.scope.resource
		t.keys.next()
		t.attributes = t.attributes[:0]
		t.addEventName(&g.events)
		for _, a := range []struct{ key, value string }{{attributeSource, g.key.source}, {attributeDataType, g.key.dataType}} {
			if a.value != "" {
				t.attributes = append(t.attributes, t.dict.StringAttribute(t.textKey(a.key), t.validString(a.value)))
			}
		}
		h := profileHeader{
			scope:             g.scope,
			ids:               g.hash.IDs(),
			attributes:        t.sortAttributes(),
			droppedAttributes: g.droppedAttributes,
		}
		w := t.defaultWeight(&g.events, g.key.allocation)
		t.writeProfile(&g.events, &h, &w, true)
	}
}
