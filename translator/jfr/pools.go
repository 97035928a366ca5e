// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"cmp"
	"slices"
)

// poolID is a class of constants that a chunk keeps.
type poolID int

// The pools.
const (
	noPool poolID = iota
	poolStrings
	poolSymbols
	poolClasses
	poolMethods
	poolStacks
	poolThreads
	poolStates
	poolFrameTypes
	numPools
)

var poolNames = map[string]poolID{
	"java.lang.String": poolStrings, "jdk.types.Symbol": poolSymbols, "java.lang.Class": poolClasses, "jdk.types.Method": poolMethods,
	"jdk.types.StackTrace": poolStacks, "java.lang.Thread": poolThreads, "jdk.types.ThreadState": poolStates,
	"jdk.types.FrameType": poolFrameTypes,
}

// pool has the constants of a class, in the order of their ids.
type pool struct {
	class     *class
	constants []constant
}

// constant is the position of a constant in the chunk.
type constant struct {
	id  uint64
	pos uint32
	// index is for the caller, who notes there what became of the constant. It begins as 0.
	index int32
}

// constantBytes is the memory of a constant while its pool grows.
const constantBytes = 3 * 16

// readPools reads the constants of the chunk. The last part comes first. Each names the distance to the part before it, and must end
// before the part that names it, so that no byte is read twice.
func (r *chunkReader) readPools(pos int) {
	for end := len(r.data); ; {
		r.pos = pos
		r.skipLongs(4) // size, type, start, duration
		distance := int64(r.long())
		r.long() // mask
		for n := r.count("classes of constants"); n > 0 && r.err == nil; n-- {
			r.readConstants()
		}
		if r.err != nil {
			return
		}
		if r.pos > end {
			r.fail(pos, "constant pools overlap")
		}
		if distance == 0 {
			break
		}
		if distance > 0 || distance < int64(headerBytes-pos) {
			r.fail(pos, "the constant pool before this one is %d bytes away, it must be from %d to -1", distance, headerBytes-pos)
			return
		}
		end, pos = pos, pos+int(distance)
	}
	// Most are sorted. The last part of the pools comes first, and the JDK can repeat a constant in it.
	byID := func(a, b constant) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.pos, b.pos)) }
	for _, p := range r.pools {
		if !slices.IsSortedFunc(p.constants, byID) {
			slices.SortFunc(p.constants, byID)
		}
	}
}

// readConstants reads the constants of one class.
func (r *chunkReader) readConstants() {
	at := r.pos
	id := r.long()
	class := r.classes[id]
	n := r.count("constants")
	if class == nil {
		r.fail(at, "constants are of class %d, which does not exist", id)
		return
	}
	which := poolNames[class.name]
	p := &r.pools[which]
	if which != noPool {
		if p.class != nil && p.class != class { // All constants of a pool are read as one class.
			r.fail(at, "two classes of constants have the name %q", class.name)
			return
		}
		if !r.use(constantBytes * int64(n)) {
			return
		}
		p.class, p.constants = class, slices.Grow(p.constants, n)
	}
	for ; n > 0 && r.err == nil; n-- {
		id := r.long()
		if which != noPool {
			p.constants = append(p.constants, constant{id: id, pos: uint32(r.pos)})
		}
		if which == poolStrings {
			r.skipText()
		} else {
			r.read(class, &r.values, 0)
		}
	}
}

// constant returns a constant by its id, or nil. It is valid as long as the chunk.
func (c *chunk) constant(which poolID, id uint64) *constant {
	constants := c.pools[which].constants
	if len(constants) == 0 {
		return nil
	}
	// Ids are often consecutive.
	i, found := id-constants[0].id, false
	if i >= uint64(len(constants)) || constants[i].id != id {
		var at int
		if at, found = slices.BinarySearchFunc(constants, id, func(e constant, id uint64) int { return cmp.Compare(e.id, id) }); !found {
			return nil
		}
		i = uint64(at)
	}
	return &constants[i]
}
