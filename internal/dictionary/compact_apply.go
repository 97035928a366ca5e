// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// rewriteAttributes writes a list as a sorted set with the new indices.
func (c *Compactor) rewriteAttributes(list pcommon.Int32Slice, drop bool) {
	c.set = c.AppendSet(c.set[:0], list, drop)
	for j, a := range c.set {
		c.set[j] = c.tables[Attributes].to[a]
	}
	list.FromRaw(c.set)
}

// RewriteHeader replaces the indices of a profile, but not of its samples. It writes lists of attributes as sorted sets.
// Call it before Apply.
func (c *Compactor) RewriteHeader(profile pprofile.Profile) {
	c.rename.Header(profile)
}

// Apply rewrites the tables of d, which is the dictionary of Reset or a copy of it. The caller must have rewritten all profiles
// and samples. Apply rewrites lists of attributes before the attribute table, since checking a list needs the keys.
func (c *Compactor) Apply(d pprofile.ProfilesDictionary) {
	for _, t := range topDown {
		rows, state := tableOf(d, t), &c.tables[t]
		if c.renumbered {
			rows.setZero()
			c.rename.Entries(d, t, 1, rows.Len(), state.used)
		}
		if state.kept < rows.Len() {
			rows.removeIf(func(i int) bool { return state.first[i] != int32(i) || !state.used[i] })
		}
	}
}

// hasZeroEntries reports whether entry 0 of each table is the zero value.
func (c *Compactor) hasZeroEntries() bool {
	for t, n := range LengthsOf(c.source) {
		if n == 0 || EntryBytes(c.source, Table(t), 0) != zeroBytes[t] {
			return false
		}
	}
	return true
}

// zeroBytes has the sizes of zero values. All other values are larger.
var zeroBytes = func() (bytes Lengths) {
	d := pprofile.NewProfilesDictionary()
	for t := range NumTables {
		tableOf(d, t).setZero()
		bytes[t] = EntryBytes(d, t, 0)
	}
	return bytes
}()
