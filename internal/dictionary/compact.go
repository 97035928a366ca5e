// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"errors"
	"fmt"
	"reflect"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/scratch"
)

// Compactor makes a dictionary hold each value once, nothing that is not used, and its zero entries, in place. Call the methods in
// this order:
//
//	Reset     finds equal entries in all tables but stacks
//	Use...    marks what profiles and samples refer to, and checks it
//	Number    finds equal stacks, marks what the used entries refer to, and gives each entry that stays its new index
//	Rewrite... gives profiles and samples the new indices
//	Apply     rewrites the tables
//
// Nothing is written before Apply. The entries that stay keep their order, so a dictionary that is already in order keeps all its
// indices, see Changed. Index 0 is treated as the zero value, whatever the message has there.
type Compactor struct {
	source pprofile.ProfilesDictionary
	of     [NumTables]compaction

	// dropped tells of each attribute whether it has one of the keys to drop.
	dropKeys map[string]bool
	dropped  []bool

	index   hashIndex
	waiting []entryHash
	touched uint64 // keeps the compiler from leaving reads out
	set     []int32
	other   []int32
	// changed tells whether Apply has anything to do, renumbered whether that is more than to remove entries at the ends of tables.
	changed, renumbered bool
	// unordered tells whether an entry has a list of attributes that is not written as its set.
	unordered bool
	// negativeLines and namelessFunctions tell of entries that strict readers refuse.
	negativeLines, namelessFunctions bool

	// use marks what it goes through as used, rename gives it the new indices.
	use, rename *Visit
	using       using
}

// compaction is what is known of the entries of one table. An entry is known by its representative, the first entry
// that is equal to it, or below zero if it is broken.
type compaction struct {
	name  string
	first []int32
	used  []bool
	// referred tells of each entry whether another entry refers to it, be that one used or not.
	referred []bool
	to       []int32
	kept     int
	// twice tells whether any entry is equal to an earlier one.
	twice bool
	// faults tells why entries are broken; only where there are any. Beyond some, an entry whose fault is like that of
	// entry j has -1-j as its representative: an error for each of a million takes more memory than the message.
	faults map[int32]error
	// kinds has an entry of faults for each kind of error.
	kinds map[reflect.Type]int32
}

// maxFaults is how many errors are kept for each table, about.
const maxFaults = 100

func (c *compaction) reset(name string, n int) {
	c.name, c.twice = name, false
	n = max(n, 1)
	c.first = scratch.Zeroed(c.first, n)
	c.used = scratch.Zeroed(c.used, n)
	c.referred = scratch.Zeroed(c.referred, n)
	c.to = scratch.Zeroed(c.to, n)
	clear(c.faults)
	clear(c.kinds)
}

// find returns the representative of entry i, below zero if the entry is broken or does not exist.
func (c *compaction) find(i int32) int32 {
	if uint(i) >= uint(len(c.first)) || i < 0 {
		return -1
	}
	return c.first[i]
}

// fault tells why find returned less than zero.
func (c *compaction) fault(i int32) error {
	if i < 0 || int(i) >= len(c.first) {
		return &IndexError{Table: c.name, Index: i, Len: len(c.first)}
	}
	if err, kept := c.faults[i]; kept {
		return err
	}
	return fmt.Errorf("%s %d is broken like %w", c.name, i, c.faults[-1-c.first[i]])
}

func (c *compaction) setBroken(i int, err error) {
	if c.faults == nil {
		c.faults, c.kinds = map[int32]error{}, map[reflect.Type]int32{}
	}
	kind := kindOf(err)
	like, known := c.kinds[kind]
	if known && len(c.faults) >= maxFaults {
		c.first[i] = -1 - like
		return
	}
	if !known {
		c.kinds[kind] = int32(i)
	}
	c.faults[int32(i)] = fmt.Errorf("%s %d: %w", c.name, i, err)
	c.first[i] = -1
}

// kindOf returns the type of the error that err began with.
func kindOf(err error) reflect.Type {
	for {
		cause := errors.Unwrap(err)
		if cause == nil {
			return reflect.TypeOf(err)
		}
		err = cause
	}
}

// use marks entry i as used.
func (c *compaction) use(i int32) error {
	first := c.find(i)
	if first < 0 {
		return c.fault(i)
	}
	c.used[first] = true
	return nil
}

// number gives the entries that stay their new indices. It reports whether any entry goes, and whether any index changes.
func (c *compaction) number() (changed, renumbered bool) {
	c.used[0] = true
	c.kept = 0
	for i, first := range c.first {
		switch {
		case first == int32(i) && c.used[i]:
			c.to[i] = int32(c.kept)
			renumbered = renumbered || c.kept != i
			c.kept++
		case first >= 0 && first < int32(i):
			c.to[i] = c.to[first]
			changed, renumbered = true, true
		default:
			changed = true
		}
	}
	return changed, renumbered
}

// keeps tells whether entry i stays.
func (c *compaction) keeps(i int) bool { return c.first[i] == int32(i) && c.used[i] }

// Reset begins with a dictionary: it finds equal and broken entries of all tables but stacks. dropKeys are the keys of
// sample attributes to drop.
func (c *Compactor) Reset(source pprofile.ProfilesDictionary, dropKeys map[string]bool) {
	c.source, c.dropKeys, c.changed, c.renumbered = source, dropKeys, false, false
	c.negativeLines, c.namelessFunctions, c.unordered = false, false, false
	if c.use == nil {
		c.use, c.rename = NewVisit(&c.using), NewVisit(renaming{c})
	}
	for t, n := range LengthsOf(source) {
		c.of[t].reset(TableNames[t], n)
		c.use[t].Known, c.use[t].Mark, c.rename[t].To = c.of[t].used, true, c.of[t].to
	}
	c.joinAll()
}

// Release lets go of the dictionary.
func (c *Compactor) Release() {
	c.source = pprofile.ProfilesDictionary{}
	for t := range c.of {
		clear(c.of[t].faults)
	}
}

// Kept is the memory that the Compactor takes up, whether it is in use or not.
func (c *Compactor) Kept() int64 {
	bytes := kept(c.dropped) + kept(c.index.slots) + kept(c.waiting) + kept(c.set) + kept(c.other)
	for t := range c.of {
		table := &c.of[t]
		bytes += kept(table.first) + kept(table.used) + kept(table.referred) + kept(table.to)
	}
	return bytes
}

// using marks lists as used, and tells of indices that do not exist. The first error stays.
type using struct {
	*Compactor
	err error
}

func (u *using) Index(t Table, i int32) int32 {
	if u.err == nil {
		u.err = u.of[t].use(i)
	}
	return i
}

func (u *using) List(_ Table, list pcommon.Int32Slice) {
	if u.err == nil {
		u.err = u.useAttributes(list, false)
	}
}

// UseHeader marks what a profile refers to but for its samples.
func (c *Compactor) UseHeader(profile pprofile.Profile) error {
	c.using = using{c, nil}
	c.use.Header(profile)
	return c.using.err
}

// useAttributes marks a list of attributes as used, without those that are to be dropped if drop is set. A list that is not
// written as its set is a change. A key that appears twice with different values is an error.
func (c *Compactor) useAttributes(list pcommon.Int32Slice, drop bool) (err error) {
	var own bool
	if c.set, own = c.appendOwn(c.set[:0], list, drop); own {
		err = c.checkKeys(c.set)
	} else {
		c.set, err = c.attributeSet(c.set[:0], list, drop)
	}
	if err != nil {
		return err
	}
	for _, a := range c.set {
		c.of[Attributes].used[a] = true
	}
	if !own && !equalsList(c.set, list) {
		c.changed, c.renumbered = true, true
	}
	return nil
}

// AppendSet appends the set that a list of attributes stands for, representatives in their order, and tells whether the
// list says it like that already. The list is one that was used.
func (c *Compactor) AppendSet(dst []int32, list pcommon.Int32Slice, drop bool) (set []int32, same bool) {
	if list.Len() == 0 {
		return dst, true
	}
	start := len(dst)
	if dst, same = c.appendOwn(dst, list, drop); same {
		return dst, true
	}
	dst, _ = c.attributeSet(dst[:start], list, drop)
	return dst, equalsList(dst[start:], list)
}

// Number finds equal stacks among those that are used, marks what they use, and gives all that stays its new index. ok is
// false when a stack that is used is broken, see CheckStack; then nothing is numbered.
func (c *Compactor) Number() (ok bool) {
	if !c.joinStacks() {
		return false
	}
	c.markReachable()
	for t := range c.of {
		changed, renumbered := c.of[t].number()
		c.changed, c.renumbered = c.changed || changed, c.renumbered || renumbered
	}
	if !c.zeroEntriesStand() {
		c.changed, c.renumbered = true, true
	}
	return true
}

// NegativeLines tells after Reset whether a line, a column or the start line of a function is below 0.
func (c *Compactor) NegativeLines() bool { return c.negativeLines }

// NamelessFunctions tells after Reset whether a function has neither a name, a system name nor a file name, but a start line.
func (c *Compactor) NamelessFunctions() bool { return c.namelessFunctions }

// Changed tells whether Apply has anything to do.
func (c *Compactor) Changed() bool { return c.changed }

// Renumbered tells whether Rewrite has anything to do: an index changes, or a list of attributes is not written as its set. Otherwise
// Apply only removes entries that nothing refers to from the ends of tables. Collectors add such strings to what they send.
func (c *Compactor) Renumbered() bool { return c.renumbered }

// SizesBefore returns the lengths of the tables as they were given.
func (c *Compactor) SizesBefore() Sizes { return LengthsOf(c.source).Sizes() }

// SizesAfter returns the lengths of the tables that Apply leaves.
func (c *Compactor) SizesAfter() Sizes {
	var kept Lengths
	for t := range c.of {
		kept[t] = c.of[t].kept
	}
	return kept.Sizes()
}

// Rebase goes on with a copy of the dictionary, or sets the one that SizesBefore tells of.
func (c *Compactor) Rebase(copied pprofile.ProfilesDictionary) { c.source = copied }
