// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package index

import "github.com/ianlancetaylor/demangle"

// maxNameBits limits a demangled name to 2 to the power of this many bytes: a short name can stand for one of many gigabytes.
const maxNameBits = 12

// Linked returns the number of a function by the name that the linker knows. name is what debug information calls it, or empty.
func (b *Builder) Linked(systemName, name string, startLine uint32) uint32 {
	linked := b.Text(systemName)
	readable, known := b.demangled[linked]
	if !known && b.use(mapBytes) {
		if plain, err := demangle.ToString(systemName, demangle.MaxLength(maxNameBits)); err == nil {
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

// isMangled reports whether a name that cannot be demangled is not for readers.
func isMangled(name string) bool { return len(name) > 2 && (name[:2] == "_Z" || name[:2] == "_R") }
