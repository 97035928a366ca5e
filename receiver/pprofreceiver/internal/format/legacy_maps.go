// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/refusal"
)

// google/pprof reads the mappings of an older format line by line. A line name=value makes it replace $name in all later lines, by a
// search that it prepares again after each such line, and it compares each address with each mapping. These limits are far above what
// profilers write.
const (
	maxMapVariables     = 100
	maxMapVariableBytes = 4 << 10
	maxMapReferences    = 10_000
	maxMapComparisons   = 4 << 30
)

// textMapBegins precede the mappings in the text formats.
var textMapBegins = [][]byte{[]byte("--- Memory map: ---"), []byte("MAPPED_LIBRARIES:")}

// mapsOf returns the part of a payload in which google/pprof finds mappings, or more.
func mapsOf(plain []byte) []byte {
	begins := textMapBegins
	if first := plain[:min(len(plain), 8)]; bytes.HasPrefix(first, make([]byte, 4)) {
		// The samples of the binary CPU profile end with the words 0, 1 and 0. Words have 32 or 64 bits in either byte order.
		word := 4
		if len(bytes.Trim(first, "\x00")) == 0 {
			word = 8
		}
		little, big := make([]byte, 3*word), make([]byte, 3*word)
		little[word], big[2*word-1] = 1, 1
		begins = [][]byte{little, big}
	}
	begin := len(plain)
	for _, mark := range begins {
		if at := bytes.Index(plain, mark); at >= 0 {
			begin = min(begin, at+len(mark))
		}
	}
	return plain[begin:]
}

// checkMaps refuses a payload whose mappings would take google/pprof much time or memory.
func checkMaps(plain []byte) error {
	maps := mapsOf(plain)
	lines, variables, references := 0, 0, bytes.Count(maps, []byte("$"))
	for line := range bytes.Lines(maps) {
		lines++
		if bytes.IndexByte(line, '=') < 0 {
			continue
		}
		variables++
		if len(line) > maxMapVariableBytes || bytes.IndexByte(line, '$') >= 0 {
			return refusal.New(refusal.TooLarge, "a variable of the mappings has %d bytes or refers to another one, the limit is %d bytes", len(line), maxMapVariableBytes)
		}
	}
	samples := len(plain) - len(maps)
	comparisons := int64(lines) * int64(bytes.Count(plain, []byte("0x"))+samples/8)
	if variables > maxMapVariables || references > maxMapReferences || comparisons > maxMapComparisons {
		return refusal.New(refusal.TooLarge, "a limit of the mappings is exceeded: they have %d lines, %d variables and %d references, for %d bytes of samples", lines, variables, references, samples)
	}
	return nil
}
