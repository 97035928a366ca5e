// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"bytes"
	"encoding/binary"
)

// textBegins has the first words of the text formats that google/pprof still reads. Go's formats have their name in the
// first line, as in "goroutine profile: total 7".
var textBegins = [][]byte{
	[]byte("heapz "),
	[]byte("growthz "),
	[]byte("fragmentationz "),
	[]byte("--- heap"),
	[]byte("--- growth"),
	[]byte("--- fragmentation"),
	[]byte("--- contention"),
	[]byte("--- mutex"),
	[]byte("--- thread"),
	[]byte("--- Thread"),
	[]byte("cycles/second"),
}

// isLegacy reports whether a decompressed payload looks like one of the older formats: the text formats of heap, growth,
// contention, thread and counting profiles, or the binary CPU profile. It only checks the beginning.
func isLegacy(payload []byte) bool {
	text := bytes.TrimLeft(payload[:min(len(payload), 512)], " \t\r\n")
	for _, begin := range textBegins {
		if bytes.HasPrefix(text, begin) {
			return true
		}
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return bytes.Contains(line, []byte(" profile: ")) || isBinaryCPU(payload)
}

// isBinaryCPU recognizes the header of a binary CPU profile: the words 0 and 3, and a version of 0 or 1. Words have 32 or
// 64 bits in either byte order.
func isBinaryCPU(payload []byte) bool {
	if len(payload) < 24 {
		return false
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if order.Uint32(payload) == 0 && order.Uint32(payload[4:]) == 3 && order.Uint32(payload[8:]) <= 1 {
			return true
		}
		if order.Uint64(payload) == 0 && order.Uint64(payload[8:]) == 3 && order.Uint64(payload[16:]) <= 1 {
			return true
		}
	}
	return false
}
