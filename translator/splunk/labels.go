// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"strconv"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// labelRole is the meaning of a label key.
type labelRole uint8

const (
	roleUnknown labelRole = iota // not known yet
	roleAttribute
	roleTime
	rolePeriod
	roleEventName
	roleLink
	roleThread    // ignored if the value is empty, 0 or -1
	roleState     // the state of a Java thread, which can become an attribute of the semantic conventions
	roleTruncated // ignored: it only says that data is missing
)

// labelTranslation has the label keys of one pprof and the results of translating labels.
type labelTranslation struct {
	// roles has the role of each string of the pprof.
	roles []labelRole
	// lastStart and lastEnd are the range of the labels of the previous sample. event is their result; t.attributes still
	// has its attributes. repaired is true if the labels needed a repair, which counts once per sample.
	lastStart, lastEnd uint32
	event              event
	repaired           bool
	// identity numbers label sets without their time. Equal numbers mean equal links and attributes.
	identity uint32
	// links are the labels of the sample that can make a link.
	links []pprofwire.Label
	// lastLinks are the link labels of the last sample whose link, lastLink, contains all their information.
	lastLinks []pprofwire.Label
	lastLink  int32
	// recordTime is the time of samples without a time, computed on first use.
	recordTime uint64
	// keyZero is the key of labels whose key is string 0 of the pprof, if hasKeyZero.
	keyZero    int32
	hasKeyZero bool
}

func (l *labelTranslation) begin(t *decoding) {
	l.roles = scratch.Zeroed(l.roles, t.wire.NumStrings())
	l.lastStart, l.lastEnd, l.lastLinks = 0, 0, l.lastLinks[:0]
	l.identity = 0
	l.recordTime, l.hasKeyZero = 0, false
}

// role returns the role of a key. A key of 0 means string 0 if that is not empty, unlike in all other references: the
// Python agent writes such tables.
func (t *decoding) role(key uint32) labelRole {
	known := &t.labels.roles[key]
	if *known == roleUnknown {
		*known = t.findRole(string(t.wire.String(key)))
	}
	return *known
}

func (t *decoding) findRole(key string) labelRole {
	for _, names := range t.opts.LinkLabels {
		if key != "" && (key == names.Trace || key == names.Span) {
			return roleLink
		}
	}
	switch key {
	case labelEventTime:
		return roleTime
	case labelEventPeriod:
		return rolePeriod
	case labelEventName:
		return roleEventName
	case semconv.ThreadState:
		if t.hasJVMStates() {
			return roleState
		}
		return roleThread
	case semconv.ThreadID, semconv.ThreadOSID, semconv.ThreadName:
		return roleThread
	case semconv.StackTruncated:
		return roleTruncated
	default:
		return roleAttribute
	}
}

// translateLabels translates the labels from start to end. The result is in t.labels.event, and its sorted attributes in
// t.attributes.
func (t *decoding) translateLabels(start, end uint32) {
	l := &t.labels
	if labels := t.wire.Labels[start:end]; !t.repeatsLabels(labels) {
		before := t.result.Repairs
		l.event = t.newLabels(labels)
		l.identity++
		l.repaired = t.result.Repairs != before
	}
	l.lastStart, l.lastEnd = start, end
}

// repeatsLabels reports whether the labels equal those of the previous sample, except for the time, which it updates.
func (t *decoding) repeatsLabels(labels []pprofwire.Label) bool {
	last := t.wire.Labels[t.labels.lastStart:t.labels.lastEnd]
	if len(last) == 0 || len(last) != len(labels) {
		return false
	}
	timeDiffers := false
	for i := range labels {
		if l := &labels[i]; *l != last[i] {
			if t.labels.repaired || l.Key != last[i].Key || t.labels.roles[l.Key] != roleTime {
				return false
			}
			timeDiffers = true
		}
	}
	if timeDiffers {
		t.labels.event.time = t.labelsTime(labels)
	}
	return true
}

// labelsTime returns the time in the labels, or the time of the record.
func (t *decoding) labelsTime(labels []pprofwire.Label) uint64 {
	for i := range labels {
		if l := &labels[i]; t.role(l.Key) == roleTime {
			if time := t.nanos(l); time != 0 {
				return time
			}
		}
	}
	if t.labels.recordTime == 0 {
		t.labels.recordTime = t.record.time(t)
	}
	return t.labels.recordTime
}

// newLabels translates labels that differ from those of the previous sample.
func (t *decoding) newLabels(labels []pprofwire.Label) event {
	e := event{period: t.record.period}
	hasPeriod := false
	t.keys.next()
	t.attributes, t.labels.links = t.attributes[:0], t.labels.links[:0]
	for i := range labels {
		l := &labels[i]
		switch t.role(l.Key) {
		case roleTime: // see below
		case rolePeriod:
			if n, ok := t.number(l); !ok {
				t.result.Repairs.IgnoredNumbers++
			} else if !hasPeriod {
				e.period, hasPeriod = t.period(l, n), true
			}
		case roleEventName:
			if e.name == 0 && len(t.optional(l.Str)) > 0 {
				e.name = t.labelAttribute(t.labelKey(l.Key), l)
			}
		case roleLink:
			t.labels.links = append(t.labels.links, *l)
		default:
			t.addLabel(l)
		}
	}
	if len(t.labels.links) > 0 {
		e.link = t.extractLink()
	}
	t.sortAttributes()
	e.time = t.labelsTime(labels)
	if e.name == 0 {
		e.name = t.eventName()
	}
	return e
}

// addLabel adds the attribute for a label, unless the label is ignored or its key has occurred.
func (t *decoding) addLabel(l *pprofwire.Label) {
	role, text := t.labels.roles[l.Key], t.optional(l.Str)
	switch role {
	case roleThread:
		if len(text) == 0 && (l.Num == 0 || l.Num == -1) {
			return
		}
	case roleState:
		if t.addJVMState(text) || len(text) == 0 && (l.Num == 0 || l.Num == -1) {
			return
		}
	case roleTruncated:
		if len(text) == 0 && l.Num == 0 || string(text) == "false" || string(text) == "False" {
			return
		}
	default:
	}
	key := t.labelKey(l.Key)
	if !t.isNewKey(key) {
		return
	}
	if role == roleTruncated && (l.Num == 1 || len(text) <= maxNumberText && isTrue(string(text))) {
		t.attributes = append(t.attributes, t.dict.TrueAttribute(key))
		return
	}
	t.attributes = append(t.attributes, t.labelAttribute(key, l))
}

// labelAttribute returns the attribute for a label. key is the index of its key in the dictionary.
func (t *decoding) labelAttribute(key int32, l *pprofwire.Label) int32 {
	if l.Str != 0 {
		return t.tables.TextAttribute(key, l.Str)
	}
	if t.memory.Need(dictionary.AttributeBytes) != nil {
		return 0
	}
	return t.dict.IntAttribute(key, t.tables.String(l.NumUnit), l.Num)
}

// labelKey adds the key of a label to the dictionary.
func (t *decoding) labelKey(i uint32) int32 {
	if i != 0 {
		return t.tables.String(i)
	}
	l := &t.labels
	if !l.hasKeyZero {
		l.keyZero, l.hasKeyZero = t.dict.StringBytes(t.valid(t.wire.String(0))), true
	}
	return l.keyZero
}

// maxNumberText is longer than any number, id or name of a state.
const maxNumberText = 64

// number returns the value of a numeric label, which can be written as text.
func (t *decoding) number(l *pprofwire.Label) (int64, bool) {
	if l.Str == 0 {
		return l.Num, true
	}
	text := t.wire.String(l.Str)
	n, err := strconv.ParseInt(string(text[:min(len(text), maxNumberText)]), 10, 64)
	return n, err == nil && len(text) <= maxNumberText
}

// longestPeriod is the longest default period of Splunk's agents, in milliseconds.
const longestPeriod = 10_000

// period returns the period of a label in nanoseconds, or 0 if it is invalid. Agents write a number of milliseconds.
// Contrib's exporter writes a text: the period of the profile in its own unit, which is mostly the unit of the values.
// That is assumed if the result is at least a millisecond, or if the number is too large for milliseconds.
func (t *decoding) period(l *pprofwire.Label, n int64) int64 {
	if l.Str != 0 && t.typed() {
		if nanos := inNanos(n, t.optional(t.wire.SampleTypes[0].Unit)); nanos >= nanosPerMilli || nanos > 0 && n > longestPeriod {
			return nanos
		}
	}
	return t.millis(n)
}

// nanos returns the time of a label in nanoseconds, or 0 if it is missing or invalid.
func (t *decoding) nanos(l *pprofwire.Label) uint64 {
	n, ok := t.number(l)
	if !ok || n == 0 {
		t.result.Repairs.IgnoredNumbers++
		return 0
	}
	return uint64(t.millis(n))
}
