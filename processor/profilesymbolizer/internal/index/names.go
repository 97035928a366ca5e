// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"

	"github.com/ianlancetaylor/demangle"
)

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
