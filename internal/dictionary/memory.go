// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import "unsafe"

func sizeOf[T any]() int64 { return int64(unsafe.Sizeof(*new(T))) }

// Kept is the memory that the tables take up, whether it is in use or not.
func (b *Builder) Kept() int64 {
	return kept(b.strings) + kept(b.functions) + kept(b.mappings) + kept(b.locations) + kept(b.lines) + kept(b.linesEnds) +
		kept(b.attributes) + kept(b.links) + b.mappingAttributes.kept() + b.locationAttributes.kept() + b.stacks.lists.kept() +
		kept(b.stringIndex.slots) + kept(b.functionIndex.slots) + kept(b.mappingIndex.slots) + kept(b.locationIndex.slots) +
		kept(b.stacks.index.slots) + kept(b.attributeIndex.slots) + kept(b.linkIndex.slots)
}

func (l *lists) kept() int64 { return kept(l.items) + kept(l.ends) }

func kept[T any](s []T) int64 { return int64(cap(s)) * sizeOf[T]() }
