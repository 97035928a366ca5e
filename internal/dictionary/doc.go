// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package dictionary builds the dictionary of a profiles message: each string, function, mapping, location, stack,
// attribute and link once.
//
// A [Builder] takes values and returns their indices. Values with equal content are one entry. Hashes only find
// candidates; their seeds are random per process, since the values come from the network. Indices have the order of first
// use, entry 0 of each table is the zero value, and the same calls give the same indices. The time of a lookup is linear
// in the size of the value, and does not grow with the table.
//
// The tables are flat slices; [Builder.WriteTo] writes them as pdata. An [Importer] copies entries of another dictionary
// on first use, with all entries to which they refer. So one pass merges dictionaries and drops unreachable entries. A
// [Compactor] removes repeated and unreachable entries from a dictionary in place.
package dictionary // import "github.com/otelpprof/otelpprof/internal/dictionary"
