// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package speedscope

import (
	"bytes"
	"encoding/json"
	"math"
	"math/bits"
	"strconv"

	"github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"
)

// unescapedBytes is the memory for unescaping, without the text. An escape is longer than its character.
const unescapedBytes = 64

// text reads a string, or null. The result may refer to memory of the payload.
func (r *reader) text() ([]byte, error) {
	if r.Word("null") {
		return nil, nil
	}
	raw, err := r.Literal()
	if err != nil || bytes.IndexByte(raw, '\\') < 0 {
		return raw, err
	}
	r.Keep(unescapedBytes + 4*int64(len(raw)))
	if err := r.Err(); err != nil {
		return nil, err
	}
	var text string
	if err := json.Unmarshal(r.Text[r.At-len(raw)-2:r.At], &text); err != nil {
		return nil, profilebuilder.Malformed("byte %d: %s", r.At, err.Error())
	}
	return []byte(text), nil
}

// number reads a number and returns its text.
func (r *reader) number() ([]byte, error) {
	r.Peek()
	start := r.At
	if !r.Number() {
		r.At = start
		return nil, r.Unexpected("a number")
	}
	return r.Text[start:r.At], nil
}

// position reads the number of a line or column, or null. A missing number is 0. Some exporters write -1 for it.
func (r *reader) position() (int64, error) {
	if r.Word("null") {
		return 0, nil
	}
	value, err := r.value(1, true)
	return max(value, 0), err
}

// index reads the index of a frame.
func (r *reader) index() (int, error) {
	value, err := r.value(1, true)
	if err == nil && (value < 0 || value >= int64(len(r.frames))) {
		err = profilebuilder.Malformed("byte %d: frame %d does not exist, there are %d", r.At, value, len(r.frames))
	}
	return int(value), err
}

// value reads a number and multiplies it by factor. The result is rounded, or must be whole.
func (r *reader) value(factor int64, whole bool) (int64, error) {
	text, err := r.number()
	if err != nil {
		return 0, err
	}
	if value, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		high, low := bits.Mul64(uint64(max(value, -value)), uint64(factor))
		if high == 0 && low <= math.MaxInt64 {
			return value * factor, nil
		}
	}
	value, err := strconv.ParseFloat(string(text), 64)
	value *= float64(factor)
	switch {
	case err != nil, math.Abs(value) >= math.MaxInt64:
		return 0, profilebuilder.Malformed("byte %d: the number %.64q is too large", r.At, text)
	case whole && value != math.Trunc(value):
		return 0, profilebuilder.Malformed("byte %d: the number %.64q must be whole", r.At, text)
	}
	return int64(math.Round(value)), nil
}
