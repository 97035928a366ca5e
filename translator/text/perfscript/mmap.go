// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package perfscript

import (
	"bytes"
	"math"
	"regexp"
	"strconv"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

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
	if r.Use(0, executableBytes+2*int64(len(m[6]))); r.Err() == nil {
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
