// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilebuilder

import (
	"bytes"
	"iter"
	"math"
	"math/bits"
	"strconv"

	"github.com/otelpprof/otelpprof/internal/wire/jsonscan"
	"github.com/otelpprof/otelpprof/translator/text"
)

// JSON reads a payload that is JSON. It can seek: the fields of an object come in any order. Its errors are those of the Builder. After
// one, loops end, and values have no meaning.
type JSON struct {
	*Builder
	jsonscan.Scanner
}

// NewJSON returns a JSON that reads a decompressed payload.
func NewJSON(b *Builder, plain []byte) JSON {
	return JSON{Builder: b, Scanner: jsonscan.Scanner{Text: plain, Malformed: text.ErrMalformed, Continue: b.continueWork}}
}

// Fields reads an object, or null: the keys with their escapes. The loop must read each value, and ends after an error.
func (j *JSON) Fields() iter.Seq[[]byte] {
	return func(yield func(key []byte) bool) {
		if j.err != nil {
			return
		}
		j.fail(j.Object(func(key []byte) error {
			yield(key)
			return j.err
		}))
	}
}

// Items reads an array, or null: the numbers of its items. The loop must read each item, and ends after an error. what names an item in
// errors, unless it is empty.
func (j *JSON) Items(what string) iter.Seq[int] {
	return func(yield func(number int) bool) {
		if j.err != nil {
			return
		}
		number := 0
		j.fail(j.Array(func() error {
			if yield(number); j.err != nil && what != "" {
				j.AddPosition("%s %d", what, number)
			}
			number++
			return j.err
		}))
	}
}

// Skip skips a value.
func (j *JSON) Skip() { j.fail(j.Scanner.Skip()) }

// End sets an error unless nothing but white space is left.
func (j *JSON) End() { j.fail(j.Scanner.End()) }

// Place is the position of a value, 0 if there is none, and the number of its items if it is an array.
type Place struct{ At, Items int }

// Mark returns the place of a value, and skips the value.
func (j *JSON) Mark() Place {
	if j.Peek() == '[' {
		return j.MarkArray()
	}
	place := Place{At: j.At}
	j.Skip()
	return place
}

// MarkArray is Mark for a value that must be an array, or null.
func (j *JSON) MarkArray() Place {
	place := Place{At: j.At}
	for range j.Items("") {
		place.Items++
		j.Skip()
	}
	return place
}

// ReadText reads a string, or null. The result may refer to memory of the payload.
func (j *JSON) ReadText() []byte {
	if j.Word("null") {
		return nil
	}
	raw, err := j.Literal()
	if err != nil || bytes.IndexByte(raw, '\\') < 0 {
		j.fail(err)
		return raw
	}
	if j.Use(int64(len(raw))); j.err != nil {
		return nil
	}
	return jsonscan.Unescape(raw)
}

// readNumber reads a number and returns its text.
func (j *JSON) readNumber() []byte {
	j.Peek()
	start := j.At
	if !j.Number() {
		j.At = start
		j.fail(j.Unexpected("a number"))
	}
	return j.Text[start:j.At]
}

// ReadFrame reads a frame, an object with fields of these names, and returns its location. first is the number of the first line and column
// of a file.
func (j *JSON) ReadFrame(nameField, fileField, lineField, columnField string, first int64) int32 {
	var name, file []byte
	var line, column int64
	for key := range j.Fields() {
		switch { // A switch of string(key) would copy it.
		case string(key) == nameField:
			name = j.ReadText()
		case string(key) == fileField:
			file = j.ReadText()
		case string(key) == lineField:
			line = j.readPosition(first)
		case string(key) == columnField:
			column = j.readPosition(first)
		default:
			j.Skip()
		}
	}
	return j.FrameLocation(name, file, line, column)
}

// readPosition reads the number of a line or column, or null. first is the number of the first one in the file. The result is 0 if the
// number is missing, or less: some exporters write -1 then.
func (j *JSON) readPosition(first int64) int64 {
	if j.Word("null") {
		return 0
	}
	value := j.ReadValue(1, true)
	if value-first == math.MaxInt64 {
		j.Failf("byte %d: the number %d is too large", j.At, value)
	}
	return max(value-first+1, 0)
}

// maxNumber limits the characters of a number.
const maxNumber = 1 << 10

// ReadValue reads a number and multiplies it by factor. The result is rounded, or must be whole.
func (j *JSON) ReadValue(factor int64, whole bool) int64 {
	text := j.readNumber()
	if len(text) > maxNumber {
		j.Failf("byte %d: the number %q has %d characters, the limit is %d", j.At, text, len(text), maxNumber)
		return 0
	}
	if value, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		high, low := bits.Mul64(uint64(max(value, -value)), uint64(factor))
		if high == 0 && low <= math.MaxInt64 {
			return value * factor
		}
	}
	value, err := strconv.ParseFloat(string(text), 64)
	value *= float64(factor)
	switch {
	case err != nil, math.Abs(value) >= math.MaxInt64:
		j.Failf("byte %d: the number %q is too large", j.At, text)
		return 0
	case whole && value != math.Trunc(value):
		j.Failf("byte %d: the number %q must be whole", j.At, text)
	}
	return int64(math.Round(value))
}
