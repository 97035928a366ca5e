// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"cmp"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// labelTranslation has the memory for translating the labels of one sample, and the keys of the payload.
type labelTranslation struct {
	// keys are the distinct label keys of the payload, in the order of first use. byName maps names to indices of keys.
	// ofString maps strings of the payload to these indices plus one; 0 means not known yet.
	keys     []labelKey
	byName   map[string]int32
	ofString []int32
	// links has the keys of each pair of link labels, or -1 for keys that have not occurred.
	links []linkKeys
	// anyLink is true if a key of a trace id has occurred.
	anyLink bool
	// times are the keys of timestamps. anyTime is true if one of them has occurred. timestamp is the time of the current
	// sample.
	times     []timeKey
	anyTime   bool
	timestamp uint64
	// threads is true if the labels of threads get the names of the semantic conventions.
	threads bool
	refs    []labelRef
}

// labelKey is a label key. index is its index in the dictionary plus one; 0 means not added yet.
type labelKey struct {
	name  string
	index int32
	// conventionalIndex is the same for conventional, the name in the semantic conventions, if there is one.
	conventionalIndex int32
	conventional      string
}

type linkKeys struct{ trace, span int32 }

// labelRef is a label of the sample and the index of its key in keys.
type labelRef struct {
	key   int32
	label *pprofwire.Label
}

func (l *labelTranslation) reset(numStrings, numLinks int, times []TimestampLabel) {
	clear(l.keys)
	l.keys = l.keys[:0]
	if l.byName == nil {
		l.byName = map[string]int32{}
	}
	clear(l.byName)
	l.ofString = scratch.Zeroed(l.ofString, numStrings)
	l.links = l.links[:0]
	for range numLinks {
		l.links = append(l.links, linkKeys{-1, -1})
	}
	l.anyLink, l.anyTime, l.timestamp = false, false, 0
	l.times = l.times[:0]
	for _, time := range times {
		l.times = append(l.times, timeKey{-1, int64(time.Unit)})
	}
}

// translateLabels appends the attributes of a sample to t.attributes, sorted, and returns the link of the sample.
func (t *decoding) translateLabels(labels []pprofwire.Label) (link int32) {
	refs := t.labels.refs[:0]
	for i := range labels {
		refs = append(refs, labelRef{t.labelKey(labels[i].Key), &labels[i]})
	}
	slices.SortStableFunc(refs, func(a, b labelRef) int { return cmp.Compare(a.key, b.key) })
	if t.labels.anyLink {
		refs, link = t.extractLink(refs)
	}
	if t.labels.anyTime {
		refs, t.labels.timestamp = t.extractTimestamp(refs)
	}
	for start := 0; start < len(refs); {
		end := start + 1
		for end < len(refs) && refs[end].key == refs[start].key {
			end++
		}
		t.attributes = append(t.attributes, t.labelAttribute(refs[start:end]))
		start = end
	}
	t.attributes = dictionary.SortSet(t.attributes, 0)
	clear(refs)
	t.labels.refs = refs[:0]
	return link
}

// keyBytes is the memory of a key without its text.
const keyBytes = 320

// labelKey returns the index of a key in keys, which it adds if it is new. A key of 0 means string 0 if that is not
// empty, unlike in all other references: Splunk's Python agent writes such tables.
func (t *decoding) labelKey(i uint32) int32 {
	l := &t.labels
	if key := l.ofString[i]; key != 0 {
		return key - 1
	}
	text := t.Text(i)
	key, known := l.byName[string(text)]
	if !known {
		key = int32(len(l.keys))
		name := string(text)
		_ = t.meter.Use(keyBytes) // addSamples checks the error.
		l.byName[name] = key
		l.keys = append(l.keys, labelKey{name: name})
		if l.threads {
			l.keys[key].conventional = conventionalName(name)
		}
		t.registerKey(name, key)
	}
	l.ofString[i] = key + 1
	return key
}

// registerKey stores a new key as a key of link labels and of timestamps. The empty key is neither: it would match pairs
// without a span.
func (t *decoding) registerKey(name string, key int32) {
	if name == "" {
		return
	}
	for i, time := range t.opts.TimestampLabels {
		if name == time.Label {
			t.labels.times[i].key, t.labels.anyTime = key, true
		}
	}
	for pair, names := range t.opts.LinkLabels {
		if name == names.Trace {
			t.labels.links[pair].trace = key
			t.labels.anyLink = true
		}
		if name == names.Span {
			t.labels.links[pair].span = key
		}
	}
}

// labelAttribute returns the attribute for all labels of one key: a single value, or an array of values in their order.
func (t *decoding) labelAttribute(refs []labelRef) int32 {
	k := &t.labels.keys[refs[0].key]
	index, name := &k.index, k.name
	if len(refs) == 1 && k.isConventional(refs[0].label) {
		index, name = &k.conventionalIndex, k.conventional
	}
	if *index == 0 {
		*index = t.dict.String(name) + 1
	}
	key := *index - 1
	if len(refs) == 1 {
		l := refs[0].label
		if l.Str != 0 {
			return t.tables.TextAttribute(key, l.Str)
		}
		return t.addAttribute(0, 0, false, func() int32 { return t.dict.IntAttribute(key, t.tables.String(l.NumUnit), l.Num) })
	}
	return t.listAttribute(key, refs)
}

// listAttribute returns the attribute for several labels of one key: an array of their values.
func (t *decoding) listAttribute(key int32, refs []labelRef) int32 {
	unit, oneUnit := t.commonUnit(refs)
	text, items := 0, int64(listItemBytes*len(refs))
	if oneUnit {
		items = int64(plainItemBytes * len(refs))
	}
	for _, ref := range refs {
		t.countLongTexts(ref.label.Str, ref.label.NumUnit)
		text += len(t.wire.String(ref.label.Str)) + len(t.wire.String(ref.label.NumUnit))
	}
	if t.meter.Need(attributeBytes(text)+int64(listItemBytes*len(refs))) != nil {
		return 0
	}
	return t.addAttribute(text, items, false, func() int32 {
		return t.dict.Attribute(key, t.tables.String(unit), t.listValue(refs, oneUnit))
	})
}

// listValue returns the array of the values of labels.
func (t *decoding) listValue(refs []labelRef, oneUnit bool) pcommon.Value {
	values := pcommon.NewValueSlice()
	values.Slice().EnsureCapacity(len(refs))
	for _, ref := range refs {
		value := values.Slice().AppendEmpty()
		if !oneUnit {
			pair := value.SetEmptyMap()
			if ref.label.Str == 0 {
				pair.PutStr(kvUnit, t.name(ref.label.NumUnit))
			}
			value = pair.PutEmpty(kvValue)
		}
		if ref.label.Str != 0 {
			value.SetStr(t.name(ref.label.Str))
		} else {
			value.SetInt(ref.label.Num)
		}
	}
	return values
}

// listItemBytes is the memory of an item of an array without its text, plainItemBytes that of one that has no unit of its own.
const (
	listItemBytes  = 200
	plainItemBytes = 80
)

// kvValue and kvUnit are the keys of array items if the labels of one key have different units.
const (
	kvValue = "value"
	kvUnit  = "unit"
)

// commonUnit returns the unit of all numbers among the labels. ok is false if their units differ.
func (t *decoding) commonUnit(refs []labelRef) (unit uint32, ok bool) {
	found := false
	for _, ref := range refs {
		if ref.label.Str != 0 {
			continue
		}
		if found && !t.equalUnits(ref.label.NumUnit, unit) {
			return 0, false
		}
		unit, found = ref.label.NumUnit, true
	}
	return unit, true
}

func (t *decoding) equalUnits(a, b uint32) bool {
	if a == b {
		return true
	}
	t.countLongTexts(a)
	return t.meter.Err() == nil && t.tables.EqualTexts(a, b)
}
