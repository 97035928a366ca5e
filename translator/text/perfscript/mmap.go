// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package perfscript

import (
	"bytes"
	"math"
	"regexp"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// executable is the code of a file in the memory of a process, which perf script prints with --show-mmap-events. The file has a build id
// if perf record had --buildid-mmap.
type executable struct {
	dictionary.Mapping
	buildID []byte
}

// executableBytes is the memory of one, with its entry in a map that grows.
const executableBytes = 512

// mmapRecord is a mapping of code of a file with a build id: process, address(size) @ offset <build id>: protection file.
var mmapRecord = regexp.MustCompile(`^MMAP2 -?\d+/\d+: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+) <([0-9a-f]+)>\]: ..x. (.+)$`)

// readRecord reads a record that is no sample, and reports whether the line is one. Of several for a file, the last one holds.
func (r *reader) readRecord(line []byte) bool {
	_, record, found := bytes.Cut(line, []byte(": PERF_RECORD_"))
	if !found {
		return false
	}
	m := mmapRecord.FindSubmatch(record)
	if m == nil {
		return true
	}
	start, startOK := parseHex(m[1])
	size, sizeOK := parseHex(m[2])
	offset, offsetOK := parseHex(m[3])
	if len(m[4])%2 != 0 || !startOK || !sizeOK || !offsetOK || size > math.MaxUint64-max(start, offset) {
		return true
	}
	if r.Use(0, executableBytes+2*int64(len(m[5]))); r.Err() == nil {
		r.executables[string(m[5])] = executable{dictionary.Mapping{Start: start, Limit: start + size, Offset: offset}, m[4]}
	}
	return true
}

// mapping returns the mapping of a frame. In call graphs, perf prints addresses as offsets in the file: the mapping begins at its offset.
func (r *reader) mapping(f *frame) int32 {
	r.attributes = append(r.attributes[:0], r.TrueAttribute(semconv.MappingHasFunctions))
	var m dictionary.Mapping
	if e, found := r.executables[string(f.dso)]; found {
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
