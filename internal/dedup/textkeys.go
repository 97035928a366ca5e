// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"strconv"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// dictionaryStrings visits the strings of a dictionary. Different keys of attributes stay different: otherwise a sample
// with both would have one key twice, which is invalid.
func (t *texts) dictionaryStrings(d pprofile.ProfilesDictionary) {
	var faulty []faultyKey
	var taken map[string]bool
	if t.write {
		faulty, taken = keysOf(d)
	}
	list := d.StringTable()
	for i := range list.Len() {
		if s, changed := t.repaired(list.At(i)); changed {
			list.SetAt(i, s)
		}
	}
	if t.write {
		numberKeys(d, faulty, taken)
	}
}

// faultyKey is a key of an attribute that is not UTF-8: its index in the string table, and its text.
type faultyKey struct {
	index int32
	text  string
}

// keysOf returns the keys of attributes that are not UTF-8, each once, in the order of the attributes, and all other keys.
func keysOf(d pprofile.ProfilesDictionary) (faulty []faultyKey, others map[string]bool) {
	texts := d.StringTable()
	others = map[string]bool{}
	seen := make([]bool, texts.Len()) // Many attributes can have one long key.
	for _, attribute := range d.AttributeTable().All() {
		i := attribute.KeyStrindex()
		if i < 0 || int(i) >= texts.Len() || seen[i] {
			continue
		}
		seen[i] = true
		if text := texts.At(int(i)); utf8.ValidString(text) {
			others[text] = true
		} else {
			faulty = append(faulty, faultyKey{i, text})
		}
	}
	return faulty, others
}

// numberKeys adds a number to repaired keys that are equal to another key.
func numberKeys(d pprofile.ProfilesDictionary, faulty []faultyKey, taken map[string]bool) {
	texts := d.StringTable()
	repaired, last := map[string]string{}, map[string]int{}
	for _, key := range faulty {
		free, known := repaired[key.text]
		if !known {
			text := texts.At(int(key.index))
			free = text
			n := max(last[text], 1)
			for taken[free] {
				n++
				free = text + "." + strconv.Itoa(n)
			}
			last[text], taken[free], repaired[key.text] = n, true, free
		}
		texts.SetAt(int(key.index), free)
	}
}
