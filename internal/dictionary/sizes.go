// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

// At least the memory of pdata's structs on 64-bit systems, in bytes, with Go's size classes. Pairs and values are parts of lists, so theirs are exact.
const (
	PointerSize = 8
	NumberSize  = 8
	StringSize  = 16
	ListSize    = 24

	ResourceProfilesSize = 96
	ScopeProfilesSize    = 112
	EntitySize           = 80
	ProfileSize          = 160
	SampleSize           = 96

	FunctionSize  = 24
	MappingSize   = 64
	LocationSize  = 64
	LineSize      = 24
	StackSize     = 24
	AttributeSize = 32
	LinkSize      = 24

	KeyValueSize = 40
	ValueSize    = 16
)
