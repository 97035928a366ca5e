// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

// Wire types of the protobuf encoding that profile.proto and its unknown fields may have.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// uvarint returns the varint that begins at b[i] and the position after it. The position is faultTruncated or faultOverlong
// if the varint is malformed.
func uvarint(b []byte, i int) (uint64, int) {
	if i < len(b) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	return longUvarint(b, i)
}

const (
	faultTruncated = -1
	faultOverlong  = -2
)

func longUvarint(b []byte, i int) (uint64, int) {
	var v uint64
	for shift := uint(0); shift < 64; shift += 7 {
		if i >= len(b) {
			return 0, faultTruncated
		}
		c := b[i]
		i++
		if c < 0x80 {
			if shift == 63 && c > 1 {
				return 0, faultOverlong
			}
			return v | uint64(c)<<shift, i
		}
		v |= uint64(c&0x7f) << shift
	}
	return 0, faultOverlong
}

// fault returns the error for a negative position.
func fault(i int) error {
	if i == faultOverlong {
		return errOverlong
	}
	return errTruncated
}

// message reads the length that begins at b[i] and returns the start and the end of the content after it. end is negative if
// the length is malformed or too large.
func message(b []byte, i int) (start, end int) {
	if i < len(b) && b[i] < 0x80 && int(b[i]) < len(b)-i {
		return i + 1, i + 1 + int(b[i])
	}
	n, i := uvarint(b, i)
	if i < 0 {
		return 0, i
	}
	if n > uint64(len(b)-i) {
		return 0, faultTruncated
	}
	return i, i + int(n)
}

// skip returns the position after the value of an unknown field, or a negative one.
func skip(b []byte, i, wireType int) int {
	switch wireType {
	case wireVarint:
		_, i = uvarint(b, i)
	case wireBytes:
		_, i = message(b, i)
	case wireFixed64:
		i += 8
	case wireFixed32:
		i += 4
	default:
		return faultTruncated
	}
	if i > len(b) {
		return faultTruncated
	}
	return i
}
