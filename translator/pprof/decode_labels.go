// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"bytes"
	"cmp"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// labelTranslation is the working memory for the labels of one sample, and what is known of the payload's keys.
type labelTranslation struct {
	// keys are the distinct keys of the payload in the order of their first use, byName and ofString find them: ofString
	// by string of the payload, plus one, 0 says nothing yet.
	keys     []labelKey
	byName   map[string]int32
	ofString []int32
	// links holds the keys that were seen for each pair of link labels, -1 for those that were not.
	links []linkKeys
	// anyLink tells whether one of the keys names a trace.
	anyLink bool
	// times are the keys of timestamps, anyTime tells whether the payload has one of them, timestamp is the time of the sample.
	times     []timeKey
	anyTime   bool
	timestamp uint64
	// threads tells whether the labels of threads get the names of the conventions.
	threads bool
	refs    []labelRef
}

// labelKey is a key and its index in the dictionary, which it gets on its first use in an attribute, plus one.
type labelKey struct {
	name  string
	index int32
	// conventionalIndex is that of the name that the conventions have for it, if there is one.
	conventionalIndex int32
	conventional      string
}

type linkKeys struct{ trace, span int32 }

// labelRef is a label of the sample and the position of its key.
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

// fewLabels is the number up to which comparing each with each is cheaper than sorting.
const fewLabels = 16

// translateLabels appends the attributes of a sample to t.attributes, sorted, and returns its link.
func (t *decoding) translateLabels(labels []pprofwire.Label) (link int32) {
	refs := t.labels.refs[:0]
	for i := range labels {
		refs = append(refs, labelRef{t.labelKey(labels[i].Key), &labels[i]})
	}
	if len(refs) > fewLabels || anyKeyTwice(refs) {
		slices.SortStableFunc(refs, func(a, b labelRef) int { return cmp.Compare(a.key, b.key) })
	}
	if t.labels.anyLink {
		refs, link = t.takeLink(refs)
	}
	if t.labels.anyTime {
		refs, t.labels.timestamp = t.takeTimestamp(refs)
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

func anyKeyTwice(refs []labelRef) bool {
	for i := range refs {
		for j := range i {
			if refs[i].key == refs[j].key {
				return true
			}
		}
	}
	return false
}

// keyBytes is what a key takes, but for its text.
const keyBytes = 320

// labelKey returns the position of a key and notes whether it is part of a link. Unlike all other references, a key of 0
// means string 0 where that is not empty: Splunk's Python agent writes such tables.
func (t *decoding) labelKey(i uint32) int32 {
	l := &t.labels
	if key := l.ofString[i]; key != 0 {
		return key - 1
	}
	text := t.text(i)
	key, known := l.byName[string(text)]
	if !known {
		key = int32(len(l.keys))
		name := string(text)
		t.reserved.need(keyBytes)
		t.reserved.grown += keyBytes
		l.byName[name] = key
		l.keys = append(l.keys, labelKey{name: name})
		if l.threads {
			l.keys[key].conventional = conventionalName(name)
		}
		t.noteKey(name, key)
	}
	l.ofString[i] = key + 1
	return key
}

// noteKey notes which pairs of link labels a key is part of, and whether it is one of timestamps. The empty key is part of none,
// a pair may lack its span.
func (t *decoding) noteKey(name string, key int32) {
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

// attributeKey returns the index of the key of an attribute in the dictionary, which labels of one key become.
func (t *decoding) attributeKey(refs []labelRef) int32 {
	k := &t.labels.keys[refs[0].key]
	index, name := &k.index, k.name
	if len(refs) == 1 && k.isConventional(refs[0].label) {
		index, name = &k.conventionalIndex, k.conventional
	}
	if *index == 0 {
		*index = t.dict.String(name) + 1
	}
	return *index - 1
}

// labelAttribute makes one attribute of all labels of one key: of its only value, or of an array of them, in order.
func (t *decoding) labelAttribute(refs []labelRef) int32 {
	key := t.attributeKey(refs)
	if len(refs) == 1 {
		l := refs[0].label
		if l.Str != 0 {
			return t.textAttribute(key, l.Str)
		}
		return t.intAttribute(key, l)
	}
	return t.listAttribute(key, refs)
}

func (t *decoding) intAttribute(key int32, l *pprofwire.Label) int32 {
	if !t.needAttribute(0, false) {
		return 0
	}
	before := t.dict.NumAttributes()
	attribute := t.dict.IntAttribute(key, t.tables.String(l.NumUnit), l.Num)
	t.noteAttribute(before, 0, false)
	return attribute
}

// listAttribute makes one attribute of several labels of one key: an array of their values.
func (t *decoding) listAttribute(key int32, refs []labelRef) int32 {
	unit, oneUnit := t.commonUnit(refs)
	text, items := 0, int64(listItemBytes*len(refs))
	for _, ref := range refs {
		t.spendLong(ref.label.Str, ref.label.NumUnit)
		text += len(t.wire.String(ref.label.Str)) + len(t.wire.String(ref.label.NumUnit))
	}
	t.reserved.need(items)
	if !t.needAttribute(text, false) {
		return 0
	}
	before := t.dict.NumAttributes()
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
	attribute := t.dict.Attribute(key, t.tables.String(unit), values)
	if t.noteAttribute(before, text, false) {
		t.reserved.grown += items
		t.message += items
	}
	return attribute
}

// listItemBytes is what an item of an array takes, but for its text.
const listItemBytes = 200

// kvValue and kvUnit are the keys of an array's items where the units of one label differ.
const (
	kvValue = "value"
	kvUnit  = "unit"
)

// commonUnit returns the unit of all numbers among the labels; ok is false when they differ.
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
	t.spendLong(a)
	return t.reserved.err == nil && bytes.Equal(t.unitText(a), t.unitText(b))
}

// unitText is text for a unit, where 0 says that there is none.
func (t *decoding) unitText(i uint32) []byte {
	if i == 0 {
		return nil
	}
	return t.text(i)
}
