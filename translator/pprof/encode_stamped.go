// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import "github.com/otelpprof/otelpprof/internal/scratch"

// stamped has values for entries of a table, in one pprof. Values of earlier pprofs have another generation, so that a reset takes no
// time.
type stamped[T any] struct {
	generation uint32
	values     []stampedValue[T]
}

type stampedValue[T any] struct {
	generation uint32
	value      T
}

// byteRange is a range of bytes that are written once for a pprof and reused.
type byteRange struct{ start, end uint32 }

func (r byteRange) bytes() int { return int(r.end - r.start) }

func (s *stamped[T]) begin(size int) {
	s.generation++
	if s.generation == 0 { // the generation has overflowed
		clear(s.values)
		s.generation = 1
	}
	s.grow(size)
}

func (s *stamped[T]) grow(size int) {
	if size > len(s.values) {
		s.values = append(s.values, make([]stampedValue[T], size-len(s.values))...)
	}
}

// find returns the value of an entry. known is false if there is none.
func (s *stamped[T]) find(entry int32) (value T, known bool) {
	if uint(entry) >= uint(len(s.values)) || s.values[entry].generation != s.generation {
		return value, false
	}
	return s.values[entry].value, true
}

// set stores the value of an entry and returns it.
func (s *stamped[T]) set(entry int32, value T) T {
	if int(entry) >= len(s.values) {
		s.grow(2 * int(entry+1))
	}
	s.values[entry] = stampedValue[T]{s.generation, value}
	return value
}

func (s *stamped[T]) kept() int { return scratch.Bytes(s.values) }
