// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"hash/maphash"
	"math/bits"
)

// The seeds are random per process, so that nobody can send values that collide on purpose.
var (
	stringSeed = maphash.MakeSeed()
	seedA      = maphash.String(stringSeed, "a") | 1
	seedB      = maphash.String(stringSeed, "b") | 1
)

// mix folds v into the hash h: a multiplication to 128 bits whose halves are joined.
func mix(h, v uint64) uint64 {
	hi, lo := bits.Mul64(h^seedA, v^seedB)
	return hi ^ lo
}

func hashString(s string) uint64 { return maphash.String(stringSeed, s) }

// hashIndices hashes a list of indices, two to a step.
func hashIndices(h uint64, list []int32) uint64 {
	h = mix(h, uint64(len(list)))
	for len(list) >= 2 {
		h = mix(h, uint64(uint32(list[0]))|uint64(uint32(list[1]))<<32)
		list = list[2:]
	}
	if len(list) == 1 {
		h = mix(h, uint64(uint32(list[0])))
	}
	return h
}

func hashBytes(b []byte) uint64 { return maphash.Bytes(stringSeed, b) }
