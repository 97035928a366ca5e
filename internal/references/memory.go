// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package references

import "github.com/otelpprof/otelpprof/internal/pprofwire"

// tableBytes is the most that a table takes for an entry: in a map, or in an array of four places for each.
const tableBytes = 40

// Bytes is the most that a Resolver takes for p.
func Bytes(p *pprofwire.Profile) int64 {
	return tableBytes*int64(len(p.Functions)+len(p.Mappings)+len(p.Locations)) + int64(len(p.Locations))
}

// Kept is the memory that the tables take up, whether it is in use or not.
func (r *Resolver) Kept() int64 {
	return r.Functions.kept() + r.Mappings.kept() + r.Locations.kept() + int64(cap(r.Reached))
}

func (t *Table) kept() int64 { return 4*int64(cap(t.array)) + tableBytes*int64(t.most) }
