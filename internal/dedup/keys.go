// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// fewPairs is the length of a map up to which searching it is faster than an index.
const fewPairs = 16

// copies reports whether a key of m occurs again with an equal value. A key that occurs twice with different values is an
// error, since neither value is known to be right.
func copies(m pcommon.Map) (found bool, err error) {
	if m.Len() < 2 {
		return false, nil
	}
	index := indexOf(m)
	for key, value := range m.All() {
		first, indexed := index[key]
		if !indexed {
			first, _ = m.Get(key)
		}
		if first == value {
			continue
		}
		if !dictionary.EqualValues(first, value) {
			return true, &dictionary.DuplicateKeyError{Key: key}
		}
		found = true
	}
	return found, nil
}

// indexOf returns the first value of each key, or nil for a small map, in which a search is as fast.
func indexOf(m pcommon.Map) map[string]pcommon.Value {
	if m.Len() <= fewPairs {
		return nil
	}
	index := make(map[string]pcommon.Value, m.Len())
	for key, value := range m.All() {
		if _, found := index[key]; !found {
			index[key] = value
		}
	}
	return index
}

// dropCopies removes repeated keys.
func dropCopies(m pcommon.Map) {
	if found, _ := copies(m); !found {
		return
	}
	seen := make(map[string]bool, m.Len())
	m.RemoveIf(func(key string, _ pcommon.Value) bool {
		if seen[key] {
			return true
		}
		seen[key] = true
		return false
	})
}
