// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"cmp"
	"slices"
)

// Pool is a class of constants that the reader keeps.
type Pool int

// The pools.
const (
	noPool Pool = iota
	stringPool
	Symbols
	Classes
	Methods
	Stacks
	Threads
	States
	FrameTypes
	numPools
)

var poolNames = map[string]Pool{
	"java.lang.String": stringPool, "jdk.types.Symbol": Symbols, "java.lang.Class": Classes, "jdk.types.Method": Methods,
	"jdk.types.StackTrace": Stacks, "java.lang.Thread": Threads, "jdk.types.ThreadState": States, "jdk.types.FrameType": FrameTypes,
}

// pool has the constants of a class, in the order of their ids.
type pool struct {
	class     *Class
	constants []Constant
}

// Constant is the position of a constant in the chunk.
type Constant struct {
	id  uint64
	pos uint32
	// Index is for the caller, who notes there what became of the constant. It begins as 0.
	Index int32
}

// constantBytes is the memory of a constant while its pool grows.
const constantBytes = 3 * 16

// readPools reads the constants of the chunk. The last part comes first. Each names the distance to the part before it, and must end
// before the part that names it, so that no byte is read twice.
func (r *reader) readPools(pos int) {
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
	for i := range r.chunk.pools {
		sortConstants(r.chunk.pools[i].constants)
	}
}

// readConstants reads the constants of one class.
func (r *reader) readConstants() {
	at := r.pos
	id := r.long()
	class := r.chunk.classes[id]
	n := r.count("constants")
	if class == nil {
		r.fail(at, "constants are of class %d, which does not exist", id)
		return
	}
	which := poolNames[class.Name]
	p := &r.chunk.pools[which]
	if which != noPool {
		if !r.need(constantBytes * int64(n)) {
			return
		}
		p.class, p.constants = class, slices.Grow(p.constants, n)
	}
	for ; n > 0 && r.err == nil; n-- {
		id := r.long()
		if which != noPool {
			p.constants = append(p.constants, Constant{id: id, pos: uint32(r.pos)})
		}
		if which == stringPool {
			r.skipText()
		} else {
			r.read(class, &r.values, 0)
		}
	}
}

// sortConstants sorts by id. Most are sorted. The last part of the pools comes first, and the JDK can repeat a constant in it.
func sortConstants(constants []Constant) {
	byID := func(a, b Constant) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.pos, b.pos)) }
	if !slices.IsSortedFunc(constants, byID) {
		slices.SortFunc(constants, byID)
	}
}

// Constant returns a constant by its id, or nil. It is valid as long as the chunk.
func (c *Chunk) Constant(which Pool, id uint64) *Constant {
	constants := c.pools[which].constants
	if len(constants) == 0 {
		return nil
	}
	// Ids are often consecutive.
	i, found := id-constants[0].id, false
	if i >= uint64(len(constants)) || constants[i].id != id {
		var at int
		if at, found = slices.BinarySearchFunc(constants, id, func(e Constant, id uint64) int { return cmp.Compare(e.id, id) }); !found {
			return nil
		}
		i = uint64(at)
	}
	return &constants[i]
}
