// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/ianlancetaylor/demangle"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// errFull says that a binary has more symbols than an index can have.
var errFull = errors.New("too many symbols for an index")

// Area is a range of addresses, without its end.
type Area struct{ Low, High uint64 }

// Builder collects the symbols of one binary. Addresses outside of its code are ignored: the linker leaves debug information of functions
// that it removed. After an error of [Builder.Err], nothing is added.
type Builder struct {
	code     []Area
	base     uint64
	segments []Segment

	texts     []byte
	textIndex map[string]uint32
	functions []function
	known     map[function]uint32
	// demangled has the text of the readable name of a linker's name.
	demangled map[uint32]uint32
	nodes     []node
	layers    [numLayers][]span
	rows      []row
	sequences []sequence

	memory *meter.Meter
	err    error
}

// Layer is where a range comes from. Those of an earlier layer hide those of later ones.
type Layer int

const (
	// LayerDebug is from DWARF, or from Go's table of functions.
	LayerDebug Layer = iota
	// LayerSymbols is from the table of symbols.
	LayerSymbols
	numLayers
)

// NewBuilder returns a builder for a binary with code in these areas, which it sorts. memory counts what it allocates.
func NewBuilder(code []Area, segments []Segment, memory *meter.Meter) (*Builder, error) {
	b := &Builder{
		code: code, segments: segments, memory: memory,
		texts: []byte{0}, textIndex: map[string]uint32{"": 0}, functions: make([]function, 1), known: map[function]uint32{}, demangled: map[uint32]uint32{}, nodes: make([]node, 1),
	}
	slices.SortFunc(code, func(x, y Area) int { return cmp.Compare(x.Low, y.Low) })
	if len(code) > 0 {
		b.base = code[0].Low
	}
	for _, area := range code {
		if area.High-b.base >= math.MaxUint32 {
			return nil, errors.New("the code spans more than 4 GiB")
		}
	}
	return b, nil
}

// Err returns the first error, of the meter or of a table that is full.
func (b *Builder) Err() error { return b.err }

// use counts the memory of an entry. Growing a slice needs its old and its new memory.
func (b *Builder) use(bytes int64) bool {
	if b.err == nil {
		b.err = b.memory.Use(3 * bytes)
	}
	return b.err == nil
}

// mapBytes is the memory of an entry of a map with a short key.
const mapBytes = 24

// Text returns the number of a text.
func (b *Builder) Text(s string) uint32 {
	if i, ok := b.textIndex[s]; ok || b.err != nil {
		return i
	}
	if uint64(len(b.texts))+uint64(len(s))+binary.MaxVarintLen32 > math.MaxUint32 {
		b.err = errFull
		return 0
	}
	if !b.use(int64(len(s)) + mapBytes + 16) {
		return 0
	}
	i := uint32(len(b.texts))
	b.texts = binary.AppendUvarint(b.texts, uint64(len(s)))
	b.texts = append(b.texts, s...)
	b.textIndex[s] = i
	return i
}

// Function returns the number of a function.
func (b *Builder) Function(name, systemName string, startLine uint32) uint32 {
	return b.function(function{b.Text(name), b.Text(systemName), startLine})
}

func (b *Builder) function(f function) uint32 {
	if i, ok := b.known[f]; ok {
		return i
	}
	if !b.use(functionSize + mapBytes) {
		return 0
	}
	i := uint32(len(b.functions))
	b.functions = append(b.functions, f)
	b.known[f] = i
	return i
}

// Place is a position in the source. The file is a text of the builder.
type Place struct{ File, Line, Column uint32 }

// Node returns a new node of a function, inlined at a place in the node parent unless that is 0.
func (b *Builder) Node(function, parent uint32, call Place) uint32 {
	if !b.use(nodeSize) {
		return 0
	}
	b.nodes = append(b.nodes, node{function, parent, call.File, call.Line, call.Column})
	return uint32(len(b.nodes) - 1)
}

// Range says that the code from low to high belongs to a node. Of ranges within each other, the inner one holds; of equal ones the last.
func (b *Builder) Range(layer Layer, low, high uint64, node uint32) {
	end := b.CodeEnd(low)
	if end == 0 || node == 0 || high <= low || !b.use(12) {
		return
	}
	high = min(high, end)
	b.layers[layer] = append(b.layers[layer], span{uint32(low - b.base), uint32(high - b.base), node})
}

// CodeEnd returns the end of the area of code with an address, or 0 if it is not within the code.
func (b *Builder) CodeEnd(address uint64) uint64 {
	i, found := slices.BinarySearchFunc(b.code, address, func(a Area, address uint64) int { return cmp.Compare(a.Low, address) })
	if !found {
		i--
	}
	if i < 0 || address >= b.code[i].High {
		return 0
	}
	return b.code[i].High
}

// HasRanges reports whether there is any range in a layer.
func (b *Builder) HasRanges(layer Layer) bool { return len(b.layers[layer]) > 0 }

// maxMangled is the length of the longest name that is demangled. The time for a longer one can be the square of its length, and the stack
// that it needs can end the process.
const maxMangled = 4 << 10

// maxNameBits limits a demangled name to 2 to the power of this many bytes: a short name can stand for one of many gigabytes.
const maxNameBits = 12

// Linked returns the number of a function by the name that the linker knows. name is what debug information calls it, or empty.
func (b *Builder) Linked(systemName, name string, startLine uint32) uint32 {
	linked := b.Text(systemName)
	readable, known := b.demangled[linked]
	if !known && b.use(mapBytes) {
		if plain := b.demangle(systemName); plain != "" {
			readable = b.Text(plain)
		} else if name == "" || !isMangled(systemName) {
			readable = linked
		}
		b.demangled[linked] = readable
	}
	if readable == 0 {
		readable = b.Text(name)
	}
	return b.function(function{readable, linked, startLine})
}

// demangle returns the readable form of a name, or an empty text. Many names can take long: each lets the meter end the work.
func (b *Builder) demangle(name string) (plain string) {
	if len(name) <= maxMangled {
		plain, _ = demangle.ToString(name, demangle.MaxLength(maxNameBits)) // Most names are not mangled, which is an error.
		b.err = cmp.Or(b.err, b.memory.Continue())
	}
	return plain
}

// isMangled reports whether a name that cannot be demangled is not for readers.
func isMangled(name string) bool { return len(name) > 2 && (name[:2] == "_Z" || name[:2] == "_R") }
