// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package collapsed

import (
	"bytes"
	"math"
	"strconv"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// readLine reads the stack of a line, unless the line is empty.
func (r *reader) readLine(line []byte, counted bool) {
	if len(line) == 0 {
		return
	}
	stack, count := line, int64(1)
	if counted {
		if key, value, isHeader := cutHeader(line); isHeader {
			r.readHeader(key, value)
			return
		}
		end := bytes.LastIndexAny(line, " \t")
		if end < 0 {
			r.Failf("%q has no count, it must be a stack, a space and a count", line)
			return
		}
		var err error
		if count, err = parseCount(line[end+1:]); err != nil {
			r.Failf("column %d: the count %q is not a whole number from 0 to %d", end+2, line[end+1:], int64(math.MaxInt64))
			return
		}
		stack = bytes.TrimRight(line[:end], " \t")
	}
	if len(r.text) == 0 || !bytes.Equal(stack, r.text) { // Equal lines often follow each other.
		r.text = stack
		r.readStack(stack)
		r.index = r.Stack(r.stack, true)
	}
	r.addAt(r.index, count)
}

// readStack sets the current stack to the frames in text.
func (r *reader) readStack(text []byte) {
	r.stack = r.stack[:0]
	column := 1
	for more := true; more && r.Err() == nil; {
		var name []byte
		length := len(text)
		name, text, more = bytes.Cut(text, []byte(";"))
		if len(name) == 0 {
			r.Failf("column %d: a frame has no name", column)
			return
		}
		if i := controlAt(name); i >= 0 {
			r.Failf("column %d: a frame has the control character %q", column+i, name[i])
			return
		}
		column += length - len(text)
		r.stack = r.Push(r.stack, r.FrameLocation(name, nil, 0, 0))
	}
}

// controlAt returns the index of the first control character, or -1. Text has none.
func controlAt(text []byte) int {
	for i, c := range text {
		if c < ' ' && c != '\t' {
			return i
		}
	}
	return -1
}

// maxDigits limits the digits of a count, with zeros before it.
const maxDigits = 64

// parseCount parses decimal digits. A fraction must be 0: values are whole numbers.
func parseCount(digits []byte) (int64, error) {
	whole, fraction, found := bytes.Cut(digits, []byte("."))
	if found && len(fraction) > 0 && len(bytes.Trim(fraction, "0")) == 0 {
		digits = whole
	}
	if len(digits) > maxDigits {
		return 0, strconv.ErrRange
	}
	n, err := strconv.ParseUint(string(digits), 10, 63)
	return int64(n), err
}

// IsText reports whether a decompressed payload looks like [Groups]: the first line is text, and ends with a space and a
// count. No protobuf message looks like this.
func IsText(payload []byte) bool {
	const longest = 1 << 20
	line, _, _ := bytes.Cut(payload[:min(len(payload), longest)], []byte("\n"))
	line = bytes.TrimRight(line, " \t\r")
	if controlAt(line) >= 0 {
		return false
	}
	end := bytes.LastIndexAny(line, " \t")
	if end <= 0 {
		return false
	}
	_, err := parseCount(line[end+1:])
	return err == nil
}

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
		if !known || len(r.text) > 0 && r.profile.Type != valueType {
			r.Failf("the type of values is not known for the mode %q of Austin, or their mode comes after them: name a sample type", value)
			return
		}
		r.profile.Type, r.period = valueType, nanosecondsPerMicrosecond
	}
}
