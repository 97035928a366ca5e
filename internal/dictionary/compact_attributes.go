// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// attributeAt returns an attribute whose key and unit are representatives.
func (c *Compactor) attributeAt(i int) (a Attribute, err error) {
	if i == 0 {
		return Attribute{}, nil
	}
	from := c.source.AttributeTable().At(i)
	key, unit := c.tables[Strings].get(from.KeyStrindex(), &err), c.tables[Strings].get(from.UnitStrindex(), &err)
	return NewAttribute(key, unit, from.Value()), err
}

func (c *Compactor) joinAttributes() {
	c.index.reset(len(c.tables[Attributes].first))
	c.dropped = scratch.Zeroed(c.dropped, len(c.tables[Attributes].first))
	equal := func(a, b int) bool {
		x, _ := c.attributeAt(a)
		y, _ := c.attributeAt(b)
		return equalAttributes(&x, &y)
	}
	referred := c.tables[Strings].referred
	for i := range c.tables[Attributes].first {
		a, err := c.attributeAt(i)
		if err == nil && a.Value != (pcommon.Value{}) && attributevalue.TooDeep(a.Value) {
			err = &attributevalue.TooDeepError{Key: c.text(a.Key)}
		}
		if err != nil {
			c.tables[Attributes].setInvalid(i, err)
			continue
		}
		referred[a.Key], referred[a.Unit] = true, true
		c.join(&c.tables[Attributes], i, a.hash(), equal)
		if i > 0 && len(c.dropKeys) > 0 {
			c.dropped[i] = c.drops(a.Key)
		}
	}
}

// drops reports whether attributes with a key are dropped. Many can have one long key: it is looked up once.
func (c *Compactor) drops(key int32) bool {
	drop, known := c.dropTexts[key]
	if !known {
		drop = c.dropKeys[c.text(key)]
		scratch.Store(&c.dropTexts, key, drop)
	}
	return drop
}

// attributeSet appends a list as a set: its sorted representatives without entry 0, the zero value.
func (c *Compactor) attributeSet(dst []int32, list pcommon.Int32Slice, drop bool) ([]int32, error) {
	start := len(dst)
	for j := range list.Len() {
		i := list.At(j)
		first := c.tables[Attributes].find(i)
		if first < 0 {
			return dst, c.tables[Attributes].fault(i)
		}
		if first != 0 && (!drop || !c.dropped[first]) {
			dst = append(dst, first)
		}
	}
	dst = SortSet(dst, start)
	return dst, c.checkKeys(dst[start:])
}

// referToSet marks the attributes of c.set as referred to by an entry, and records whether the entry lists them as a
// sorted set.
func (c *Compactor) referToSet(list pcommon.Int32Slice) {
	for _, a := range c.set {
		c.tables[Attributes].referred[a] = true
	}
	c.unordered = c.unordered || !equalsList(c.set, list)
}

// appendCanonical appends a list that already is a set of sorted representatives, none of which is dropped. It reports false
// for any other list.
func (c *Compactor) appendCanonical(dst []int32, list pcommon.Int32Slice, drop bool) (set []int32, ok bool) {
	first, last := c.tables[Attributes].first, int32(0)
	for j := range list.Len() {
		i := list.At(j)
		if i <= last || int(i) >= len(first) || first[i] != i || drop && c.dropped[i] {
			return dst, false
		}
		dst = append(dst, i)
		last = i
	}
	return dst, true
}

// manyAttributes is the length of a list above which its keys are sorted to find repeated ones.
const manyAttributes = 16

// checkKeys returns an error if a key occurs twice in a set.
func (c *Compactor) checkKeys(set []int32) error {
	if len(set) < 2 {
		return nil
	}
	keys := c.other[:0]
	for _, a := range set {
		keys = append(keys, c.tables[Strings].find(c.source.AttributeTable().At(int(a)).KeyStrindex()))
	}
	c.other = keys
	if len(keys) > manyAttributes {
		slices.Sort(keys)
		for i := 1; i < len(keys); i++ {
			if keys[i] == keys[i-1] {
				return c.duplicateKey(keys[i])
			}
		}
		return nil
	}
	for i := range keys {
		if slices.Contains(keys[:i], keys[i]) {
			return c.duplicateKey(keys[i])
		}
	}
	return nil
}

// DuplicateKeyError is the error for a key that occurs twice, with different values, in one list of attributes.
type DuplicateKeyError struct{ Key string }

func (e *DuplicateKeyError) Error() string {
	return fmt.Sprintf("attribute %.64q appears twice, with different values", e.Key)
}

func (c *Compactor) duplicateKey(key int32) error { return &DuplicateKeyError{Key: c.text(key)} }

// text returns a string whose index is valid. String 0 need not be in the table.
func (c *Compactor) text(i int32) string {
	if i == 0 {
		return ""
	}
	return c.source.StringTable().At(int(i))
}

func equalsList(set []int32, list pcommon.Int32Slice) bool {
	if len(set) != list.Len() {
		return false
	}
	for i := range set {
		if set[i] != list.At(i) {
			return false
		}
	}
	return true
}
