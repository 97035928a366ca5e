// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package collapsed

import (
	"bytes"

	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"
)

// austinTypes are the types of values of Austin, a profiler for Python, by its mode. It writes microseconds.
var austinTypes = map[string]pprof.ValueType{
	"wall": {Type: "wall", Unit: "nanoseconds"},
	"cpu":  {Type: "cpu", Unit: "nanoseconds"},
}

const nanosecondsPerMicrosecond = 1000

// cutHeader returns the key and value of a line such as "# mode: wall". Austin writes such lines before and after the stacks. No stack
// is lost: a stack whose first frame begins like this has other frames.
func cutHeader(line []byte) (key, value []byte, isHeader bool) {
	rest, found := bytes.CutPrefix(line, []byte("# "))
	key, value, isHeader = bytes.Cut(rest, []byte(": "))
	return key, value, found && isHeader && bytes.IndexByte(key, ' ') < 0 && bytes.IndexByte(line, ';') < 0
}

// readHeader reads a header. The mode of Austin decides the type of the values, unless the source has one.
func (r *reader) readHeader(key, value []byte) {
	switch string(key) {
	case "austin":
		r.isAustin = true
	case "mode":
		if !r.isAustin || r.hasType {
			return
		}
		valueType, known := austinTypes[string(value)]
		if !known || len(r.text) > 0 {
			r.Fail(profilebuilder.Malformed("the type of values is not known for the mode %.*q of Austin, or their mode comes after them: name a sample type", maxShown, value))
			return
		}
		r.profile.Type, r.period, r.hasType = valueType, nanosecondsPerMicrosecond, true
	}
}
