// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"cmp"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
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
	tables [NumTables]tableState

	// dropped reports for each attribute whether it has one of the keys to drop.
	dropKeys map[string]bool
	dropped  []bool
	// dropTexts has what is known of keys, by their index.
	dropTexts map[int32]bool
	// longSets has the long lists of the table that is being joined, as sets.
	longSets map[int][]int32

	index   hashIndex
	waiting []entryHash
	touched uint64 // prevents the compiler from removing reads
	set     []int32
	other   []int32
	// changed is true if Apply changes anything, renumbered if it changes more than the ends of tables.
	changed, renumbered bool
	// unordered is true if an entry has a list of attributes that is not a sorted set.
	unordered bool
	// NegativeLines is true after Reset if a line, a column or the start line of a function is below 0, NamelessFunctions if a function has a
	// start line, but no name, system name or file name. Strict readers refuse both.
	NegativeLines, NamelessFunctions bool

	// use marks entries as used and checks that they exist, rename replaces their indices.
	use, rename *Visit
	// err is the first error of use.
	err error
}

// Reset starts with a dictionary: it finds equal and invalid entries of all tables except stacks. dropKeys are the keys
// of sample attributes to drop.
func (c *Compactor) Reset(source pprofile.ProfilesDictionary, dropKeys map[string]bool) {
	c.source, c.dropKeys, c.dropTexts, c.changed, c.renumbered = source, dropKeys, nil, false, false
	c.NegativeLines, c.NamelessFunctions, c.unordered = false, false, false
	if c.use == nil {
		c.use, c.rename = NewVisit(c.useEntry), NewVisit(nil)
		c.use[Attributes].List = func(list pcommon.Int32Slice) { c.err = cmp.Or(c.err, c.useAttributes(list, false)) }
		c.rename[Attributes].List = func(list pcommon.Int32Slice) { c.rewriteAttributes(list, false) }
	}
	for t, n := range LengthsOf(source) {
		c.tables[t].reset(TableNames[t], n)
		c.use[t].Known, c.use[t].Mark, c.rename[t].To = c.tables[t].used, true, c.tables[t].to
	}
	// A table comes after those to which its entries refer. Number handles stacks.
	c.joinStrings()
	c.joinAttributes()
	c.joinLinks()
	c.joinFunctions()
	c.joinMappings()
	c.joinLocations()
}

// Release drops all references to the dictionary.
func (c *Compactor) Release() {
	c.source, c.dropTexts, c.longSets = pprofile.ProfilesDictionary{}, nil, nil
	for t := range c.tables {
		clear(c.tables[t].faults)
	}
}

// Kept returns the memory of the Compactor in bytes, including unused capacity.
func (c *Compactor) Kept() int64 {
	bytes := kept(c.dropped) + kept(c.index.slots) + kept(c.waiting) + kept(c.set) + kept(c.other)
	for t := range c.tables {
		table := &c.tables[t]
		bytes += kept(table.first) + kept(table.used) + kept(table.referred) + kept(table.to)
	}
	return bytes
}

// useEntry gets the indices that do not exist.
func (c *Compactor) useEntry(t Table, i int32) int32 {
	c.err = cmp.Or(c.err, c.tables[t].use(i))
	return i
}

// UseHeader marks the entries to which a profile refers, without those of its samples.
func (c *Compactor) UseHeader(profile pprofile.Profile) error {
	c.err = nil
	c.use.Header(profile)
	return c.err
}

// useAttributes marks a list of attributes as used. If drop is set, it leaves out the attributes to drop. It records whether
// the list will change, because it is not a sorted set. A key that occurs twice with different values is an error.
func (c *Compactor) useAttributes(list pcommon.Int32Slice, drop bool) (err error) {
	var canonical bool
	if c.set, canonical = c.appendCanonical(c.set[:0], list, drop); canonical {
		err = c.checkKeys(c.set)
	} else {
		c.set, err = c.attributeSet(c.set[:0], list, drop)
	}
	if err != nil {
		return err
	}
	for _, a := range c.set {
		c.tables[Attributes].used[a] = true
	}
	if !canonical && !equalsList(c.set, list) {
		c.changed, c.renumbered = true, true
	}
	return nil
}

// AppendSet appends a list of attributes as a set: its sorted representatives. The list must have been used.
func (c *Compactor) AppendSet(dst []int32, list pcommon.Int32Slice, drop bool) []int32 {
	if list.Len() == 0 {
		return dst
	}
	set, canonical := c.appendCanonical(dst, list, drop)
	if !canonical {
		set, _ = c.attributeSet(dst, list, drop)
	}
	return set
}

// Number finds equal stacks among the used ones, marks what they refer to, and assigns the new indices. If a used stack is
// invalid, see CheckStack, Number returns the error of the first one, and assigns no indices.
func (c *Compactor) Number() error {
	if err := c.joinStacks(); err != nil {
		return err
	}
	c.markReachable()
	for t := range c.tables {
		changed, renumbered := c.tables[t].number()
		c.changed, c.renumbered = c.changed || changed, c.renumbered || renumbered
	}
	if !c.hasZeroEntries() {
		c.changed, c.renumbered = true, true
	}
	return nil
}

// Changed reports, after Number, whether Apply changes anything. If it returns true before, that is final.
func (c *Compactor) Changed() bool { return c.changed }

// Renumbered reports whether Rewrite changes anything: an index changes, or a list of attributes is not a sorted set.
// Otherwise Apply only removes unreferenced entries from the ends of tables. Collectors append such strings when they send
// a message.
func (c *Compactor) Renumbered() bool { return c.renumbered }

// Compact removes repeated and unused entries from the dictionary of a message in place. Profiles and samples only get new
// indices. keep is the tables whose unused entries stay. If the message is invalid, Compact returns an error and changes
// nothing.
func Compact(pd pprofile.Profiles, keep ...Table) error {
	var tables Compactor
	tables.Reset(pd.Dictionary(), nil)
	for _, t := range keep {
		for i, first := range tables.tables[t].first {
			tables.tables[t].used[i] = first == int32(i)
		}
	}
	for profile := range walk.Profiles(pd) {
		if err := tables.UseHeader(profile); err != nil {
			return err
		}
		for _, sample := range profile.Samples().All() {
			if err := tables.UseSample(sample); err != nil {
				return err
			}
		}
	}
	if err := tables.Number(); err != nil {
		return err
	}
	if tables.Renumbered() {
		for profile := range walk.Profiles(pd) {
			tables.RewriteHeader(profile)
			for _, sample := range profile.Samples().All() {
				tables.RewriteSample(sample)
			}
		}
	}
	if tables.Changed() {
		tables.Apply(pd.Dictionary())
	}
	return nil
}
