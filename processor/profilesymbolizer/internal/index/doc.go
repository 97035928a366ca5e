// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package index has the symbols of one binary in a compact form: a [Builder] collects them, and a [Table] looks addresses up in the file that
// the Builder writes, without reading the rest of it.
//
// A file is a header and five tables, all little-endian:
//
//	segments   where a code segment of the ELF file is, in the file and in memory
//	ranges     address and node: the node holds from this address up to the next one
//	nodes      a function that was inlined in another node, or not, and the file and line of its call
//	functions  name, system name, start line
//	rows       address, file, line, column: they hold up to the next row
//	texts      each with its length before it
//
// Addresses are relative to the lowest address of the code. Node 0, text 0 and function 0 are none.
package index // import "github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
