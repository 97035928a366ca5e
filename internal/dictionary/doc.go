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
// The tables are flat slices; [Builder.WriteTo] writes them as pdata. [Compact] removes repeated and unused entries from the
// dictionary of a message in place. A [Compactor] does the same in steps.
package dictionary // import "github.com/otelpprof/otelpprof/internal/dictionary"
