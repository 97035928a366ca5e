// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/scratch"
)

// join adds entry i to the index, and sets its representative: the first equal entry.
func (c *Compactor) join(table *tableState, i int, h uint64, equal func(a, b int) bool) {
	first, added := c.index.add(h, i, func(entry int32) bool { return equal(int(entry), i) })
	if table.first[i] = first; !added {
		table.twice, c.changed = true, true
	}
}

// entryHash is an entry to join, with its hash.
type entryHash struct {
	hash  uint64
	entry int
}

const (
	// largeIndex is the number of slots above which most lookups miss the processor's caches.
	largeIndex = 1 << 18
	// manyEntries is the number of entries in a batch. The processor handles the cache misses of a batch in parallel.
	manyEntries = 32
)

// joinBatched joins an entry, in batches if the index is large. flushJoins must follow the last entry of a table. Until then, the
// representative of the entry is not known.
func (c *Compactor) joinBatched(table *tableState, i int, h uint64, equal func(a, b int) bool) {
	if len(c.index.slots) < largeIndex {
		c.join(table, i, h, equal)
		return
	}
	c.waiting = append(c.waiting, entryHash{h, i})
	if len(c.waiting) == manyEntries {
		c.flushJoins(table, equal)
	}
}

// flushJoins joins the entries of the batch.
func (c *Compactor) flushJoins(table *tableState, equal func(a, b int) bool) {
	for i := range c.waiting {
		c.touched += c.index.touch(c.waiting[i].hash)
	}
	for i := range c.waiting {
		c.join(table, c.waiting[i].entry, c.waiting[i].hash, equal)
	}
	c.waiting = c.waiting[:0]
}

func (c *Compactor) joinStrings() {
	table := c.source.StringTable()
	c.index.reset(table.Len())
	c.join(&c.tables[Strings], 0, hashString(""), nil)
	at := func(i int) string {
		if i == 0 {
			return ""
		}
		return table.At(i)
	}
	equal := func(a, b int) bool { return at(a) == at(b) }
	for i := 1; i < table.Len(); i++ {
		c.joinBatched(&c.tables[Strings], i, hashString(table.At(i)), equal)
	}
	c.flushJoins(&c.tables[Strings], equal)
}

func (c *Compactor) joinLinks() {
	table := c.source.LinkTable()
	c.index.reset(table.Len())
	at := func(i int) Link {
		if i == 0 {
			return Link{}
		}
		return Link{TraceID: table.At(i).TraceID(), SpanID: table.At(i).SpanID()}
	}
	for i := range c.tables[Links].first {
		c.join(&c.tables[Links], i, at(i).hash(), func(a, b int) bool { return at(a) == at(b) })
	}
}

// functionAt returns a function whose names are representatives.
func (c *Compactor) functionAt(i int) (f Function, err error) {
	if i == 0 {
		return Function{}, nil
	}
	from, texts := c.source.FunctionTable().At(i), &c.tables[Strings]
	f = Function{
		Name:       texts.get(from.NameStrindex(), &err),
		SystemName: texts.get(from.SystemNameStrindex(), &err),
		Filename:   texts.get(from.FilenameStrindex(), &err),
		StartLine:  from.StartLine(),
	}
	return f, err
}

func (c *Compactor) joinFunctions() {
	c.index.reset(len(c.tables[Functions].first))
	equal := func(a, b int) bool {
		f, _ := c.functionAt(a)
		g, _ := c.functionAt(b)
		return f == g
	}
	referred := c.tables[Strings].referred
	for i := range c.tables[Functions].first {
		f, err := c.functionAt(i)
		if err != nil {
			c.tables[Functions].setInvalid(i, err)
			continue
		}
		referred[f.Name], referred[f.SystemName], referred[f.Filename] = true, true, true
		c.NegativeLines = c.NegativeLines || f.StartLine < 0
		c.NamelessFunctions = c.NamelessFunctions || f == Function{StartLine: f.StartLine} && f.StartLine != 0
		c.joinBatched(&c.tables[Functions], i, f.hash(), equal)
	}
	c.flushJoins(&c.tables[Functions], equal)
}

// joinMappings and joinLocations hash lists of attributes as sets.
func (c *Compactor) joinMappings() {
	c.longSets = nil
	c.index.reset(len(c.tables[Mappings].first))
	table := c.source.MappingTable()
	for i := range c.tables[Mappings].first {
		m, err := c.mappingAt(i)
		if err != nil {
			c.tables[Mappings].setInvalid(i, err)
			continue
		}
		c.set = c.set[:0]
		if i > 0 {
			if c.set, err = c.attributeSet(c.set, table.At(i).AttributeIndices(), false); err != nil {
				c.tables[Mappings].setInvalid(i, err)
				continue
			}
			c.referToSet(table.At(i).AttributeIndices())
		}
		c.tables[Strings].referred[m.Filename] = true
		c.join(&c.tables[Mappings], i, m.hash(c.set), func(a, b int) bool {
			n, _ := c.mappingAt(a)
			return n == m && (a == 0 && len(c.set) == 0 || a > 0 && slices.Equal(c.setOf(a, table.At(a).AttributeIndices()), c.set))
		})
	}
}

func (c *Compactor) mappingAt(i int) (m Mapping, err error) {
	if i == 0 {
		return Mapping{}, nil
	}
	from := c.source.MappingTable().At(i)
	m = Mapping{Start: from.MemoryStart(), Limit: from.MemoryLimit(), Offset: from.FileOffset()}
	m.Filename = c.tables[Strings].get(from.FilenameStrindex(), &err)
	return m, err
}

// setOf returns the list of an entry of the current table as a set. Many entries can be equal to one with a long list: it is sorted once.
func (c *Compactor) setOf(entry int, list pcommon.Int32Slice) (set []int32) {
	if list.Len() == 0 {
		return nil
	}
	set, known := c.longSets[entry]
	if !known {
		if set, _ = c.attributeSet(nil, list, false); list.Len() > manyAttributes {
			scratch.Store(&c.longSets, entry, set)
		}
	}
	return set
}
