// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"bytes"
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
)

// LongStrings iterates over copies of an uncompressed pprof: one for each string that is not empty, which is replaced by a long one, and one
// in which all of them are replaced. These repeat part up to length bytes.
func LongStrings(raw []byte, part string, length int) iter.Seq[[]byte] {
	const stringField = 6
	long := bytes.Repeat([]byte(part), length/len(part))
	var fields [][]byte
	var strings []int
	for rest := raw; len(rest) > 0; {
		number, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			panic(protowire.ParseError(n))
		}
		if number == stringField && n > 2 {
			strings = append(strings, len(fields))
		}
		fields = append(fields, rest[:n])
		rest = rest[n:]
	}
	replaced := protowire.AppendBytes(protowire.AppendTag(nil, stringField, protowire.BytesType), long)
	with := func(replace func(i int) bool) (copied []byte) {
		for i, field := range fields {
			if replace(i) {
				field = replaced
			}
			copied = append(copied, field...)
		}
		return copied
	}
	return func(yield func([]byte) bool) {
		for _, at := range strings {
			if !yield(with(func(i int) bool { return i == at })) {
				return
			}
		}
		next := 0
		yield(with(func(i int) bool {
			found := next < len(strings) && strings[next] == i
			if found {
				next++
			}
			return found
		}))
	}
}
