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

import "errors"

// ErrInvalid says that a file is not a valid index of this version.
var ErrInvalid = errors.New("invalid index")

// magic has the version of the format.
const magic = "otlpsym1"

const (
	headerSize   = 8 + 8 + 4 + 4 + 4*int(numTables)
	segmentSize  = 32
	rangeSize    = 8
	nodeSize     = 20
	functionSize = 12
	rowSize      = 16
)

type table int

const (
	segmentTable table = iota
	rangeTable
	nodeTable
	functionTable
	rowTable
	textTable
	numTables
)

// entrySize is the size of an entry of each table. The number of entries of the last one is a number of bytes.
var entrySize = [numTables]int{segmentSize, rangeSize, nodeSize, functionSize, rowSize, 1}

// The positions in the header.
const (
	baseAt     = 8
	checksumAt = 16
	countsAt   = 24
)

// Quality is what an index knows, the best last.
type Quality uint32

const (
	// QualityNone is an index without symbols.
	QualityNone Quality = iota
	// QualitySymbols has names of functions only.
	QualitySymbols
	// QualityLines has inlined functions, files and lines as well.
	QualityLines
)

// Segment is a code segment of the ELF file, as its program header says.
type Segment struct{ Offset, Address, FileSize, MemorySize uint64 }

// node is a function at a place. Its parent, if not 0, is the node in which it was inlined.
type node struct{ function, parent, callFile, callLine, callColumn uint32 }

type function struct{ name, systemName, startLine uint32 }

// row is the place in the source of the code from an address on. A row without a file ends the one before it.
type row struct{ address, file, line, column uint32 }

// span is a part of the code that belongs to a node.
type span struct{ low, high, node uint32 }
