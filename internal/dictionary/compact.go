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

// Compactor makes a dictionary hold each value once, nothing that is not used, and its zero entries, in place. Work with
// it goes in this order:
//
//	Reset     finds equal entries in all tables but stacks
//	Use...    is told what the profiles refer to, and checks it
//	Number    finds equal stacks, what the used entries use, and gives each entry that stays its new index
//	New...    return the new indices
//	Apply     rewrites the tables
//
// Up to Apply nothing is written. What stays keeps its order, so a dictionary that is in order already keeps all of its
// indices, see Changed. Index 0 is the zero value, whatever stands there.
type Compactor struct {
	source pprofile.ProfilesDictionary

	strings    compaction
	functions  compaction
	mappings   compaction
	locations  compaction
	stacks     compaction
	attributes compaction
	links      compaction

	// dropped tells of each attribute whether it has one of the keys to drop.
	dropKeys map[string]bool
	dropped  []bool

	index   hashIndex
	waiting []entryHash
	touched uint64 // keeps the compiler from leaving reads out
	set     []int32
	other   []int32
	changed bool
}

// compaction is what is known of the entries of one table. An entry is known by its representative, the first entry
// that is equal to it, or below zero if it is broken.
type compaction struct {
	table string
	first []int32
	used  []bool
	to    []int32
	kept  int
	// faults tells why entries are broken; only where there are any. Beyond some, an entry whose fault is like that of
	// entry j has -1-j as its representative: an error for each of a million takes more memory than the message.
	faults map[int32]error
	// kinds has an entry of faults for each kind of error.
	kinds map[reflect.Type]int32
}

// maxFaults is how many errors are kept for each table, about.
const maxFaults = 100

func (c *compaction) reset(table string, n int) {
	c.table = table
	n = max(n, 1)
	c.first = scratch.Zeroed(c.first, n)
	c.used = scratch.Zeroed(c.used, n)
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
		return &IndexError{Table: c.table, Index: i, Len: len(c.first)}
	}
	if err, kept := c.faults[i]; kept {
		return err
	}
	return fmt.Errorf("%s %d is broken like %w", c.table, i, c.faults[-1-c.first[i]])
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
	c.faults[int32(i)] = fmt.Errorf("%s %d: %w", c.table, i, err)
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

// number gives the entries that stay their new indices and reports whether any index changes.
func (c *compaction) number() (changed bool) {
	c.used[0] = true
	c.kept = 0
	for i, first := range c.first {
		switch {
		case first == int32(i) && c.used[i]:
			c.to[i] = int32(c.kept)
			c.kept++
		case first >= 0 && first < int32(i):
			c.to[i] = c.to[first]
			changed = true
		default:
			changed = true
		}
	}
	return changed
}

// keeps tells whether entry i stays.
func (c *compaction) keeps(i int) bool { return c.first[i] == int32(i) && c.used[i] }

// Reset begins with a dictionary: it finds equal and broken entries of all tables but stacks. dropKeys are the keys of
// attributes that UseAttributes can be told to drop.
func (c *Compactor) Reset(source pprofile.ProfilesDictionary, dropKeys map[string]bool) {
	c.source, c.dropKeys, c.changed = source, dropKeys, false
	c.strings.reset("string", source.StringTable().Len())
	c.attributes.reset("attribute", source.AttributeTable().Len())
	c.links.reset("link", source.LinkTable().Len())
	c.functions.reset("function", source.FunctionTable().Len())
	c.mappings.reset("mapping", source.MappingTable().Len())
	c.locations.reset("location", source.LocationTable().Len())
	c.stacks.reset("stack", source.StackTable().Len())
	c.joinStrings()
	c.joinAttributes()
	c.joinLinks()
	c.joinFunctions()
	c.joinMappings()
	c.joinLocations()
}

// Release lets go of the dictionary.
func (c *Compactor) Release() {
	c.source = pprofile.ProfilesDictionary{}
	for _, table := range c.tables() {
		clear(table.faults)
	}
}

// Kept is the memory that the Compactor takes up, whether it is in use or not.
func (c *Compactor) Kept() int64 {
	bytes := kept(c.dropped) + kept(c.index.slots) + kept(c.waiting) + kept(c.set) + kept(c.other)
	for _, table := range c.tables() {
		bytes += kept(table.first) + kept(table.used) + kept(table.to)
	}
	return bytes
}

func (c *Compactor) tables() []*compaction {
	return []*compaction{&c.strings, &c.functions, &c.mappings, &c.locations, &c.stacks, &c.attributes, &c.links}
}

// UseString marks a string as used.
func (c *Compactor) UseString(i int32) error { return c.strings.use(i) }

// UseLink marks a link as used.
func (c *Compactor) UseLink(i int32) error { return c.links.use(i) }

// UseStack marks a stack as used. Whether all that it holds is sound shows in Number.
func (c *Compactor) UseStack(i int32) error {
	if i < 0 || int(i) >= len(c.stacks.used) {
		return &IndexError{Table: c.stacks.table, Index: i, Len: len(c.stacks.used)}
	}
	c.stacks.used[i] = true
	return nil
}

// UseAttributes marks a list of attributes as used, without those that are to be dropped if drop is set. A list that is not
// written as its set is a change. A key that stands twice with different values is an error.
func (c *Compactor) UseAttributes(list pcommon.Int32Slice, drop bool) (err error) {
	if list.Len() == 0 {
		return nil
	}
	if c.set, err = c.attributeSet(c.set[:0], list, drop); err != nil {
		return err
	}
	for _, a := range c.set {
		c.attributes.used[a] = true
	}
	c.changed = c.changed || !equalsList(c.set, list)
	return nil
}

// AppendSet appends the set that a list of attributes stands for, representatives in their order, and tells whether the
// list says it like that already. UseAttributes took the same list, if it is one of a profile or sample.
func (c *Compactor) AppendSet(dst []int32, list pcommon.Int32Slice, drop bool) (set []int32, same bool) {
	if list.Len() == 0 {
		return dst, true
	}
	start := len(dst)
	dst, _ = c.attributeSet(dst, list, drop)
	return dst, equalsList(dst[start:], list)
}

// CountDropped returns how many attributes of a list have one of the keys to drop.
func (c *Compactor) CountDropped(list pcommon.Int32Slice) (n int) {
	if len(c.dropKeys) == 0 {
		return 0
	}
	for _, i := range list.All() {
		if c.dropped[c.attributes.first[i]] {
			n++
		}
	}
	return n
}

// FindStack returns the representative of a stack, FindLink that of a link: equal ones have equal representatives.
func (c *Compactor) FindStack(i int32) int32 { return c.stacks.first[i] }

// FindLink returns the representative of a link.
func (c *Compactor) FindLink(i int32) int32 { return c.links.first[i] }

// CheckStack tells why a stack that exists is broken, after Number.
func (c *Compactor) CheckStack(i int32) error {
	if c.stacks.first[i] < 0 {
		return c.stacks.fault(i)
	}
	return nil
}

// Number finds equal stacks among those that are used, marks what they use, and gives all that stays its new index. ok is
// false when a stack that is used is broken, see CheckStack; then nothing is numbered.
func (c *Compactor) Number() (ok bool) {
	if !c.joinStacks() {
		return false
	}
	c.spread()
	for _, table := range c.tables() {
		if table.number() {
			c.changed = true
		}
	}
	if !c.zeroEntriesStand() {
		c.changed = true
	}
	return true
}

// Changed tells whether Apply has anything to do.
func (c *Compactor) Changed() bool { return c.changed }

// NewString returns the new index of a string.
func (c *Compactor) NewString(i int32) int32 { return c.strings.to[i] }

// NewStack returns the new index of a stack.
func (c *Compactor) NewStack(i int32) int32 { return c.stacks.to[i] }

// NewLink returns the new index of a link.
func (c *Compactor) NewLink(i int32) int32 { return c.links.to[i] }

// NewAttribute returns the new index of an attribute.
func (c *Compactor) NewAttribute(i int32) int32 { return c.attributes.to[i] }

// SizesBefore returns the lengths of the tables as they were given.
func (c *Compactor) SizesBefore() Sizes {
	return Sizes{
		Strings:    c.source.StringTable().Len(),
		Functions:  c.source.FunctionTable().Len(),
		Mappings:   c.source.MappingTable().Len(),
		Locations:  c.source.LocationTable().Len(),
		Stacks:     c.source.StackTable().Len(),
		Attributes: c.source.AttributeTable().Len(),
		Links:      c.source.LinkTable().Len(),
	}
}

// SizesAfter returns the lengths of the tables that Apply leaves.
func (c *Compactor) SizesAfter() Sizes {
	return Sizes{
		Strings:    c.strings.kept,
		Functions:  c.functions.kept,
		Mappings:   c.mappings.kept,
		Locations:  c.locations.kept,
		Stacks:     c.stacks.kept,
		Attributes: c.attributes.kept,
		Links:      c.links.kept,
	}
}

// Rebase goes on with a copy of the dictionary, or sets the one that SizesBefore tells of.
func (c *Compactor) Rebase(copied pprofile.ProfilesDictionary) { c.source = copied }
