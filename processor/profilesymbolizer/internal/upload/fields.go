// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package upload

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

var errMalformed = errors.New("the message is malformed")

// field is one of a message in protobuf: a number, or text of a length.
type field struct {
	number  protowire.Number
	value   uint64
	content io.Reader
}

// eachField calls f with each field of a message while it arrives.
func eachField(message io.Reader, f func(field) error) error {
	r := bufio.NewReaderSize(message, 512)
	for {
		if _, err := r.Peek(1); err == io.EOF {
			return nil
		}
		tag, err := binary.ReadUvarint(r)
		if err != nil {
			return fmt.Errorf("%w: cannot read a tag: %w", errMalformed, err)
		}
		one, length := field{number: protowire.Number(tag >> 3)}, uint64(0)
		switch kind := protowire.Type(tag & 7); kind {
		case protowire.VarintType:
			one.value, err = binary.ReadUvarint(r)
		case protowire.BytesType:
			length, err = binary.ReadUvarint(r)
		default:
			err = fmt.Errorf("wire type %d is not expected", kind)
		}
		if err != nil {
			return fmt.Errorf("%w: cannot read field %d: %w", errMalformed, one.number, err)
		}
		content := &io.LimitedReader{R: r, N: int64(length)} // What is too large is negative, and so empty.
		one.content = content
		if err := f(one); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, content); err != nil {
			return err
		}
		if content.N != 0 {
			return fmt.Errorf("%w: field %d ends %d bytes early", errMalformed, one.number, content.N)
		}
	}
}

// maxText is the longest text of a field that is read.
const maxText = 1 << 10

// text reads a field.
func (f field) text(into *string) error {
	b, err := io.ReadAll(io.LimitReader(f.content, maxText+1))
	if len(b) > maxText {
		return fmt.Errorf("%w: field %d has more than %d bytes", errMalformed, f.number, maxText)
	}
	*into = string(b)
	return err
}

func appendText(message []byte, number protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(message, number, protowire.BytesType), text)
}

func appendNumber(message []byte, number protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(message, number, protowire.VarintType), value)
}
