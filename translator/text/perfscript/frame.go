// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package perfscript

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
	"github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"
)

// frame is one line of a stack: address symbol+offset (dso).
type frame struct {
	address     uint64
	symbol, dso []byte
	// hasFile says that a file is named, even if it is [unknown].
	hasFile bool
	// flat says that it is in the line of the sample.
	flat bool
}

// What perf prints for unknown values, and as the file of a function that is inlined into the function of the next line.
const (
	unknown = "[unknown]"
	inlined = "inlined"
)

// parseFrame parses a line. The symbol can contain spaces and parentheses, and the file can end with (deleted).
func parseFrame(line []byte) (f frame, ok bool) {
	word, rest := cutFirst(line)
	if f.address, ok = parseHex(word); !ok {
		return f, false
	}
	rest = bytes.TrimSpace(rest)
	if start := fileStart(rest); start >= 0 {
		f.hasFile = true
		f.dso = rest[start+1 : len(rest)-1]
		rest = bytes.TrimRight(rest[:start], " \t")
	}
	f.symbol = withoutOffset(rest)
	if string(f.symbol) == unknown {
		f.symbol = nil
	}
	if string(f.dso) == unknown {
		f.dso = nil
	}
	return f, true
}

// fileStart returns the index of the parenthesis that the last one closes, or -1 if there is none after a space.
func fileStart(text []byte) int {
	if !bytes.HasSuffix(text, []byte(")")) {
		return -1
	}
	depth := 0
	for i, c := range slices.Backward(text) {
		switch c {
		case ')':
			depth++
		case '(':
			depth--
		}
		if depth == 0 {
			if i > 0 && !isSpace(text[i-1]) {
				return -1
			}
			return i
		}
	}
	return -1
}

// withoutOffset removes the offset from a symbol, since the address has the same information.
func withoutOffset(symbol []byte) []byte {
	plus := bytes.LastIndex(symbol, []byte("+0x"))
	if plus < 0 {
		return symbol
	}
	if _, ok := parseHex(symbol[plus+3:]); !ok {
		return symbol
	}
	return symbol[:plus]
}

func parseHex(word []byte) (uint64, bool) {
	if len(word) == 0 || len(word) > maxDigits {
		return 0, false
	}
	number, err := strconv.ParseUint(string(word), 16, 64)
	return number, err == nil
}

// isKernel reports whether a frame is in the kernel or one of its modules, by its file or by its half of the address
// space.
func (f *frame) isKernel() bool {
	switch {
	case bytes.HasPrefix(f.dso, []byte("[kernel")), bytes.HasPrefix(f.dso, []byte("[guest.kernel")):
		return true
	case string(f.dso) == "[vsyscall]":
		return false
	default:
		return f.address>>48 == 0xffff
	}
}

// isGenerated reports whether the file is a map of generated code, which JIT compilers write.
func (f *frame) isGenerated() bool {
	name := f.dso[bytes.LastIndexByte(f.dso, '/')+1:]
	return bytes.HasPrefix(name, []byte("perf-")) && bytes.HasSuffix(name, []byte(".map"))
}

// addFrame adds a frame to the stack of the sample. Inlined functions precede the function that they are inlined into,
// and have its address. They become lines of one location.
func (r *reader) addFrame(f *frame) {
	if len(r.lines) > 0 && r.address != f.address {
		r.addLocation(&frame{address: r.address})
	}
	if len(f.symbol) > 0 {
		line := dictionary.Line{Function: r.Function(f.symbol, nil)}
		r.lines = profilebuilder.Append(r.Builder, r.lines, line)
	}
	if string(f.dso) == inlined {
		r.address = f.address
		return
	}
	r.addLocation(f)
}

// addLocation adds a location with the lines that were collected.
func (r *reader) addLocation(f *frame) {
	location := dictionary.Location{Address: f.address}
	if len(f.dso) > 0 {
		location.Mapping = r.mapping(f)
	}
	r.attributes = r.attributes[:0]
	switch {
	case f.isKernel():
		r.attributes = append(r.attributes, r.StringAttribute(semconv.LocationFrameType, []byte(semconv.FrameTypeKernel)))
	case len(f.dso) > 0 && !f.isGenerated():
		r.attributes = append(r.attributes, r.StringAttribute(semconv.LocationFrameType, []byte(semconv.FrameTypeNative)))
	}
	index := r.Location(location, r.lines, r.attributes)
	r.lines = r.lines[:0]
	r.stack = r.Push(r.stack, index)
}
