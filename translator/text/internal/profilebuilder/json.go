// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilebuilder

import (
	"bytes"
	"encoding/json"
	"math"
	"math/bits"
	"strconv"

	"github.com/otelpprof/otelpprof/internal/wire/jsonscan"
	"github.com/otelpprof/otelpprof/translator/text"
)

// Anonymous is the name of functions without a name, as JavaScript engines show them.
const Anonymous = "(anonymous)"

// JSON reads a payload that is JSON. It can seek: the fields of an object come in any order.
type JSON struct {
	*Builder
	jsonscan.Scanner
}

// NewJSON returns a JSON that reads a decompressed payload.
func NewJSON(b *Builder, plain []byte) JSON {
	return JSON{Builder: b, Scanner: jsonscan.Scanner{Text: plain, Malformed: text.ErrMalformed, Continue: b.continueWork}}
}

// Mark stores the position of a value, and skips the value.
func (j *JSON) Mark(place *int) error {
	*place = j.At
	return j.Skip()
}

// MarkArray stores the position of an array, counts its values and skips it.
func (j *JSON) MarkArray(place, count *int) error {
	*place, *count = j.At, 0
	return j.Array(func() error {
		*count++
		return j.Skip()
	})
}

// unescapedBytes is the memory for unescaping, without the text. An escape is longer than its character.
const unescapedBytes = 64

// ReadText reads a string, or null. The result may refer to memory of the payload.
func (j *JSON) ReadText() ([]byte, error) {
	if j.Word("null") {
		return nil, nil
	}
	raw, err := j.Literal()
	if err != nil || bytes.IndexByte(raw, '\\') < 0 {
		return raw, err
	}
	j.Use(0, unescapedBytes+4*int64(len(raw)))
	if err := j.Err(); err != nil {
		return nil, err
	}
	var unescaped string
	if err := json.Unmarshal(j.Text[j.At-len(raw)-2:j.At], &unescaped); err != nil {
		return nil, Malformed("byte %d: %s", j.At, err.Error())
	}
	return []byte(unescaped), nil
}

// readNumber reads a number and returns its text.
func (j *JSON) readNumber() ([]byte, error) {
	j.Peek()
	start := j.At
	if !j.Number() {
		j.At = start
		return nil, j.Unexpected("a number")
	}
	return j.Text[start:j.At], nil
}

// ReadPosition reads the number of a line or column, or null. first is the number of the first one in the file. The result is 0 if the
// number is missing, or less: some exporters write -1 then.
func (j *JSON) ReadPosition(first int64) (int64, error) {
	if j.Word("null") {
		return 0, nil
	}
	value, err := j.ReadValue(1, true)
	if err == nil && value-first == math.MaxInt64 {
		err = Malformed("byte %d: the number %d is too large", j.At, value)
	}
	return max(value-first+1, 0), err
}

// ReadValue reads a number and multiplies it by factor. The result is rounded, or must be whole.
func (j *JSON) ReadValue(factor int64, whole bool) (int64, error) {
	text, err := j.readNumber()
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
		return 0, Malformed("byte %d: the number %.64q is too large", j.At, text)
	case whole && value != math.Trunc(value):
		return 0, Malformed("byte %d: the number %.64q must be whole", j.At, text)
	}
	return int64(math.Round(value)), nil
}
