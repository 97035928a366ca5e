// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// texts visits all texts of a message. Protobuf requires UTF-8. pdata accepts any bytes, but other readers refuse the
// whole message for one invalid string.
type texts struct {
	// write is true to repair texts that are not UTF-8: invalid bytes become U+FFFD, as in the translators. A pair of a
	// map whose key is not UTF-8 is removed, since pdata cannot rename keys.
	write bool
	// faulty counts texts that are not UTF-8.
	faulty int
	// mended has the valid form of each: many attributes can share one text, and must not have a copy each.
	mended map[string]string
}

// repaired returns the valid form of s, and whether to set it.
func (t *texts) repaired(s string) (string, bool) {
	if utf8.ValidString(s) {
		return s, false
	}
	t.faulty++
	if !t.write {
		return s, false
	}
	valid, known := t.mended[s]
	if !known {
		valid = strings.ToValidUTF8(s, string(utf8.RuneError))
		t.mended[s] = valid
	}
	return valid, true
}

func (t *texts) set(s string, set func(string)) {
	if s, changed := t.repaired(s); changed {
		set(s)
	}
}

func (t *texts) message(pd pprofile.Profiles) {
	t.dictionaryStrings(pd.Dictionary())
	attributes := pd.Dictionary().AttributeTable()
	for i := range attributes.Len() {
		t.value(attributes.At(i).Value(), attributevalue.MaxDepth)
	}
	for _, resource := range pd.ResourceProfiles().All() {
		t.set(resource.SchemaUrl(), resource.SetSchemaUrl)
		t.pairs(resource.Resource().Attributes(), attributevalue.MaxDepth)
		dictionary.ForEachEntityText(resource.Resource(), t.set)
		for _, scope := range resource.ScopeProfiles().All() {
			t.set(scope.SchemaUrl(), scope.SetSchemaUrl)
			t.set(scope.Scope().Name(), scope.Scope().SetName)
			t.set(scope.Scope().Version(), scope.Scope().SetVersion)
			t.pairs(scope.Scope().Attributes(), attributevalue.MaxDepth)
			for _, profile := range scope.Profiles().All() {
				t.set(profile.OriginalPayloadFormat(), profile.SetOriginalPayloadFormat)
			}
		}
	}
}

// value visits this number of levels of lists and maps. Deeper values are invalid.
func (t *texts) value(v pcommon.Value, levels int) {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		t.set(v.Str(), v.SetStr)
	case pcommon.ValueTypeSlice:
		if levels == 0 {
			return
		}
		for _, item := range v.Slice().All() {
			t.value(item, levels-1)
		}
	case pcommon.ValueTypeMap:
		if levels > 0 {
			t.pairs(v.Map(), levels-1)
		}
	default:
	}
}

// pairs visits the pairs of a map, and this number of levels of lists and maps in it.
func (t *texts) pairs(m pcommon.Map, levels int) {
	before := t.faulty
	for key, value := range m.All() {
		if !utf8.ValidString(key) {
			t.faulty++
			continue
		}
		t.value(value, levels)
	}
	if t.write && t.faulty > before {
		m.RemoveIf(func(key string, _ pcommon.Value) bool { return !utf8.ValidString(key) })
	}
}

// repairText makes all texts valid UTF-8.
func (w *work) repairText() {
	var t texts
	if t.message(w.pd); t.faulty == 0 {
		return
	}
	w.makeOwn()
	t = texts{write: true, mended: map[string]string{}}
	t.message(w.pd)
	w.stats.MendedTexts = t.faulty
}
