// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// renaming gives lists the new indices.
type renaming struct{ *Compactor }

func (r renaming) Index(t Table, i int32) int32 { return r.of[t].to[i] }

func (r renaming) List(t Table, list pcommon.Int32Slice) {
	if t == Attributes {
		r.rewriteAttributes(list, false)
		return
	}
	to := r.of[t].to
	for j := range list.Len() {
		list.SetAt(j, to[list.At(j)])
	}
}

// rewriteAttributes writes a list as the set that it stands for, with the new indices.
func (c *Compactor) rewriteAttributes(list pcommon.Int32Slice, drop bool) {
	c.set, _ = c.AppendSet(c.set[:0], list, drop)
	for j, a := range c.set {
		c.set[j] = c.of[Attributes].to[a]
	}
	list.FromRaw(c.set)
}

// RewriteHeader gives a profile the new indices, but for its samples, before Apply. Lists of attributes are written as
// their sets.
func (c *Compactor) RewriteHeader(profile pprofile.Profile) {
	c.rename.Header(profile)
}

// Apply rewrites the tables in place. What refers to them must be rewritten before. Lists of attributes come before
// the attributes, whose keys they are checked by.
func (c *Compactor) Apply() {
	for _, t := range topDown {
		rows, state := tableOf(c.source, t), &c.of[t]
		if c.renumbered {
			rows.setZero()
			c.rename.Entries(c.source, t, 1, rows.Len(), state.used)
		}
		if state.kept < rows.Len() {
			rows.removeIf(func(i int) bool { return !state.keeps(i) })
		}
	}
}

// zeroEntriesStand tells whether each table begins with its zero value.
func (c *Compactor) zeroEntriesStand() bool {
	for t, n := range LengthsOf(c.source) {
		if n == 0 || EntryBytes(c.source, Table(t), 0) != zeroBytes[t] {
			return false
		}
	}
	return true
}

// zeroBytes are the sizes of zero values. All else is larger.
var zeroBytes = func() (bytes Lengths) {
	d := pprofile.NewProfilesDictionary()
	for t := range NumTables {
		tableOf(d, t).setZero()
		bytes[t] = EntryBytes(d, t, 0)
	}
	return bytes
}()
