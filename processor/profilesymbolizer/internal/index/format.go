// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package index

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
