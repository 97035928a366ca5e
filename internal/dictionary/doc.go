// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package dictionary builds the dictionary of a profiles message: each string, function, mapping, location, stack,
// attribute and link once.
//
// A [Builder] takes values and returns their index. Two values are one entry when they are equal by content; hashes only
// find the candidates, with seeds that are random per process, since the values come from the network. Indices count
// in the order of first use, entry 0 of each table is the zero value, and the same calls give the same indices. A look
// up costs constant time on average, linear in the size of the value.
//
// The tables are flat while they are built; [Builder.WriteTo] turns them into pdata once. An [Importer] carries entries
// of another dictionary over on first use, recursively, so that merging, deduplicating and dropping entries that
// nothing reaches are one pass.
package dictionary // import "github.com/otelpprof/otelpprof/internal/dictionary"
