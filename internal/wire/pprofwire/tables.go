// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

// ValueType is a ValueType message: two string indices.
type ValueType struct {
	Type, Unit uint32
}

// Sample is a Sample message. Its fields are the end positions of its parts in Profile.LocationIDs, Values and Labels. Each
// part begins where that of the previous sample ends.
type Sample struct {
	LocationsEnd, ValuesEnd, LabelsEnd uint32
}

// Label is a Label message: string indices and a number.
type Label struct {
	Key, Str, NumUnit uint32
	Num               int64
}

// Mapping is a Mapping message.
type Mapping struct {
	ID, Start, Limit, Offset uint64
	Filename, BuildID        uint32
	HasFunctions             bool
	HasFilenames             bool
	HasLineNumbers           bool
	HasInlineFrames          bool
}

// Location is a Location message. LinesEnd is the end position of its lines in Profile.Lines. They begin where those of the
// previous location end.
type Location struct {
	ID, MappingID, Address uint64
	LinesEnd               uint32
	IsFolded               bool
}

// Line is a Line message.
type Line struct {
	FunctionID   uint64
	Line, Column int64
}

// Function is a Function message.
type Function struct {
	ID                         uint64
	Name, SystemName, Filename uint32
	StartLine                  int64
}

// span is a range of Profile.raw.
type span struct {
	start, end uint32
}
