// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package perfscript

import (
	"bytes"
	"math"
	"regexp"
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

// executable is the code of a file in the memory of a process, which perf script prints with --show-mmap-events. The file has a build id
// if perf record had --buildid-mmap.
type executable struct {
	dictionary.Mapping
	buildID []byte
}

// codeKey is a file in a process: containers can have other files of the same name.
type codeKey struct {
	pid  int64
	file string
}

// anyProcess is the pid of files in processes that have no records, such as those that were forked. The file is not known if the records of
// others have several build ids.
const anyProcess = -1

// executableBytes is the memory of one, with its two entries in a map that grows.
const executableBytes = 1024

// mmapRecord is a mapping of code of a file with a build id: process, address(size) @ offset <build id>: protection file.
var mmapRecord = regexp.MustCompile(`^MMAP2 (-?\d+)/\d+: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+) <([0-9a-f]+)>\]: ..x. (.+)$`)

// maxBuildID is more digits than a build id has.
const maxBuildID = 128

// readRecord reads a record that is no sample, and reports whether the line is one. Of several for a file in a process, the last one holds.
func (r *reader) readRecord(line []byte) bool {
	_, record, found := bytes.Cut(line, []byte(": PERF_RECORD_"))
	if !found {
		return false
	}
	m := mmapRecord.FindSubmatch(record)
	if m == nil {
		return true
	}
	pid, err := strconv.ParseInt(string(m[1]), 10, 64)
	start, startOK := parseHex(m[2])
	size, sizeOK := parseHex(m[3])
	offset, offsetOK := parseHex(m[4])
	if len(m[5])%2 != 0 || len(m[5]) > maxBuildID || err != nil || !startOK || !sizeOK || !offsetOK || size > math.MaxUint64-max(start, offset) {
		return true
	}
	if r.Use(executableBytes + 2*int64(len(m[6]))); r.Err() == nil {
		r.addExecutable(pid, string(m[6]), executable{dictionary.Mapping{Start: start, Limit: start + size, Offset: offset}, m[5]})
	}
	return true
}

func (r *reader) addExecutable(pid int64, file string, e executable) {
	r.executables[codeKey{pid, file}] = e
	if other, found := r.executables[codeKey{anyProcess, file}]; found && !bytes.Equal(other.buildID, e.buildID) {
		e = executable{}
	}
	r.executables[codeKey{anyProcess, file}] = e
}

// executable returns the code that a file has in the process of the sample. By default perf prints only the thread, which has the number of the
// process if it is the first one.
func (r *reader) executable(file []byte) (e executable, found bool) {
	pid := r.sample.pid
	if pid < 0 {
		pid = r.sample.tid
	}
	if e, found = r.executables[codeKey{pid, string(file)}]; !found {
		e, found = r.executables[codeKey{anyProcess, string(file)}]
	}
	return e, found
}

// mapping returns the mapping of a frame. In call graphs, perf prints addresses as offsets in the file: the mapping begins at its offset.
func (r *reader) mapping(f *frame) int32 {
	r.attributes = append(r.attributes[:0], r.TrueAttribute(semconv.MappingHasFunctions))
	var m dictionary.Mapping
	if e, found := r.executable(f.dso); found {
		m = e.Mapping
		if size := m.Limit - m.Start; f.address-m.Offset < size && (!f.flat || f.address-m.Start >= size) {
			m.Start, m.Limit = m.Offset, m.Offset+size
		}
		if f.address-m.Start < m.Limit-m.Start {
			r.attributes = dictionary.SortSet(append(r.attributes, r.StringAttribute(semconv.MappingBuildID, e.buildID)), 0)
		} else {
			m = dictionary.Mapping{}
		}
	}
	return r.Mapping(m, f.dso, r.attributes...)
}
