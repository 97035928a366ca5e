// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/scratch"
)

// Compactor removes repeated and unused entries from a dictionary in place, and ensures that its zero entries exist. Call
// the methods in this order:
//
//	Reset     finds equal entries in all tables except stacks
//	Use...    marks and checks the entries to which profiles and samples refer
//	Number    finds equal stacks, marks the entries to which used entries refer, and assigns the new indices
//	Rewrite... replaces the indices of profiles and samples
//	Apply     rewrites the tables
//
// Nothing is written before Apply. The remaining entries keep their order, so a compact dictionary keeps all its indices,
// see Changed. Index 0 means the zero value, whatever the message has there.
type Compactor struct {
	source pprofile.ProfilesDictionary
	of     [NumTables]compaction

	// dropped reports for each attribute whether it has one of the keys to drop.
	dropKeys map[string]bool
	dropped  []bool

	index   hashIndex
	waiting []entryHash
	touched uint64 // prevents the compiler from removing reads
	set     []int32
	other   []int32
	// changed is true if Apply changes anything, renumbered if it changes more than the ends of tables.
	changed, renumbered bool
	// unordered is true if an entry has a list of attributes that is not a sorted set.
	unordered bool
	// negativeLines and namelessFunctions are true if there are such entries, which strict readers refuse.
	negativeLines, namelessFunctions bool

	// use marks entries as used and checks that they exist, rename replaces their indices.
	use, rename *Visit
	// err is the first error of use.
	err error
}

// compaction has the state of the entries of one table. The representative of an entry is the first entry that is equal
// to it, or a number below zero if the entry is invalid.
type compaction struct {
	name  string
	first []int32
	used  []bool
	// referred is true for each entry to which another entry refers, whether that is used or not.
	referred []bool
	to       []int32
	kept     int
	// twice is true if an entry is equal to an earlier one.
	twice bool
	// faults has the errors of invalid entries. If there are many, an entry with the same kind of error as entry j has
	// -1-j as its representative instead: an error for each of a million entries would need more memory than the message.
	faults map[int32]error
	// kinds has one entry of faults for each kind of error.
	kinds map[reflect.Type]int32
}

// maxFaults is the approximate maximum of errors for each table.
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

// find returns the representative of entry i. It is below zero if the entry is invalid or does not exist.
func (c *compaction) find(i int32) int32 {
	if uint(i) >= uint(len(c.first)) || i < 0 {
		return -1
	}
	return c.first[i]
}

// fault returns the error of an entry for which find returned a number below zero.
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

// kindOf returns the type of the innermost error that err wraps.
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

// number assigns the new indices of the remaining entries. It reports whether any entry is removed, and whether any index
// changes.
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

// keeps reports whether entry i remains.
func (c *compaction) keeps(i int) bool { return c.first[i] == int32(i) && c.used[i] }

// Reset starts with a dictionary: it finds equal and invalid entries of all tables except stacks. dropKeys are the keys
// of sample attributes to drop.
func (c *Compactor) Reset(source pprofile.ProfilesDictionary, dropKeys map[string]bool) {
	c.source, c.dropKeys, c.changed, c.renumbered = source, dropKeys, false, false
	c.negativeLines, c.namelessFunctions, c.unordered = false, false, false
	if c.use == nil {
		c.use, c.rename = NewVisit(c.useEntry), NewVisit(nil)
		c.use[Attributes].List = func(list pcommon.Int32Slice) { c.err = cmp.Or(c.err, c.useAttributes(list, false)) }
		c.rename[Attributes].List = func(list pcommon.Int32Slice) { c.rewriteAttributes(list, false) }
	}
	for t, n := range LengthsOf(source) {
		c.of[t].reset(TableNames[t], n)
		c.use[t].Known, c.use[t].Mark, c.rename[t].To = c.of[t].used, true, c.of[t].to
	}
	c.joinAll()
}

// Release drops all references to the dictionary.
func (c *Compactor) Release() {
	c.source = pprofile.ProfilesDictionary{}
	for t := range c.of {
		clear(c.of[t].faults)
	}
}

// Kept returns the memory of the Compactor in bytes, including unused capacity.
func (c *Compactor) Kept() int64 {
	bytes := kept(c.dropped) + kept(c.index.slots) + kept(c.waiting) + kept(c.set) + kept(c.other)
	for t := range c.of {
		table := &c.of[t]
		bytes += kept(table.first) + kept(table.used) + kept(table.referred) + kept(table.to)
	}
	return bytes
}

// useEntry gets the indices that do not exist.
func (c *Compactor) useEntry(t Table, i int32) int32 {
	c.err = cmp.Or(c.err, c.of[t].use(i))
	return i
}

// UseHeader marks the entries to which a profile refers, without those of its samples.
func (c *Compactor) UseHeader(profile pprofile.Profile) error {
	c.err = nil
	c.use.Header(profile)
	return c.err
}

// UseAll marks all valid entries of a table.
func (c *Compactor) UseAll(t Table) {
	for i, first := range c.of[t].first {
		c.of[t].used[i] = first == int32(i)
	}
}

// useAttributes marks a list of attributes as used. If drop is set, it leaves out the attributes to drop. It records whether
// the list will change, because it is not a sorted set. A key that occurs twice with different values is an error.
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

// AppendSet appends a list of attributes as a set: its sorted representatives. It reports whether the list already is
// this set. The list must have been used.
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

// Number finds equal stacks among the used ones, marks what they refer to, and assigns the new indices. If a used stack is
// invalid, see CheckStack, Number returns the error of the first one, and assigns no indices.
func (c *Compactor) Number() error {
	if err := c.joinStacks(); err != nil {
		return err
	}
	c.markReachable()
	for t := range c.of {
		changed, renumbered := c.of[t].number()
		c.changed, c.renumbered = c.changed || changed, c.renumbered || renumbered
	}
	if !c.zeroEntriesStand() {
		c.changed, c.renumbered = true, true
	}
	return nil
}

// NegativeLines reports, after Reset, whether a line, a column or the start line of a function is below 0.
func (c *Compactor) NegativeLines() bool { return c.negativeLines }

// NamelessFunctions reports, after Reset, whether a function has a start line, but no name, system name or file name.
func (c *Compactor) NamelessFunctions() bool { return c.namelessFunctions }

// Changed reports whether Apply changes anything.
func (c *Compactor) Changed() bool { return c.changed }

// Renumbered reports whether Rewrite changes anything: an index changes, or a list of attributes is not a sorted set.
// Otherwise Apply only removes unreferenced entries from the ends of tables. Collectors append such strings when they send
// a message.
func (c *Compactor) Renumbered() bool { return c.renumbered }

// SizesBefore returns the lengths of the tables at Reset.
func (c *Compactor) SizesBefore() Sizes { return LengthsOf(c.source).Sizes() }

// SizesAfter returns the lengths of the tables after Apply.
func (c *Compactor) SizesAfter() Sizes {
	var kept Lengths
	for t := range c.of {
		kept[t] = c.of[t].kept
	}
	return kept.Sizes()
}

// Rebase continues with a copy of the dictionary, or sets the dictionary of SizesBefore.
func (c *Compactor) Rebase(copied pprofile.ProfilesDictionary) { c.source = copied }
