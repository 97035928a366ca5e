// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package references

import "github.com/otelpprof/otelpprof/internal/wire/pprofwire"

// tableBytes is an upper bound for the memory of one entry of a table, which is a map or an array of four elements for each
// entry.
const tableBytes = 40

// Bytes returns an upper bound for the memory that a Resolver needs for p.
func Bytes(p *pprofwire.Profile) int64 {
	return tableBytes*int64(len(p.Functions)+len(p.Mappings)+len(p.Locations)) + int64(len(p.Locations))
}

// Kept returns the capacity of the tables in bytes.
func (r *Resolver) Kept() int64 {
	return r.Functions.kept() + r.Mappings.kept() + r.Locations.kept() + int64(cap(r.Reached))
}

func (t *Table) kept() int64 { return 4*int64(cap(t.array)) + tableBytes*int64(t.maxEntries) }
