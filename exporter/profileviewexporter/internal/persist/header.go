// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"
)

// errDamaged is the error for a value that this package did not write.
var errDamaged = errors.New("the value is damaged")

// version is the version of the format. Values of other versions are not read.
const version = 1

// The states of an entry.
const (
	stateIncomplete = iota
	stateComplete
)

const (
	// pieceBytes is the size of each piece of a body except the last.
	pieceBytes = 256 << 10
	// headerBytes is the size of a header: version, state, number, arrival, length, checksum of the body and of the header.
	headerBytes = 2 + 3*8 + 2*4
	// maxNumber is larger than any number of entries of a process.
	maxNumber = 1 << 62
)

// slotsKey is the key of the number of slots.
const slotsKey = "slots"

// header describes the body of an entry.
type header struct {
	complete bool
	// number orders entries by their arrival, also across runs.
	number  uint64
	arrived time.Time
	// length is the length of the body, checksum its CRC-32C.
	length   int64
	checksum uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func headerKey(slot int) string { return "h" + strconv.Itoa(slot) }

func pieceKey(slot, piece int) string { return "b" + strconv.Itoa(slot) + "." + strconv.Itoa(piece) }

// pieces returns the number of pieces of a body.
func pieces(length int64) int { return int((length + pieceBytes - 1) / pieceBytes) }

func (h *header) encode() []byte {
	state := byte(stateIncomplete)
	if h.complete {
		state = stateComplete
	}
	b := append(make([]byte, 0, headerBytes), version, state)
	b = binary.BigEndian.AppendUint64(b, h.number)
	b = binary.BigEndian.AppendUint64(b, uint64(h.arrived.UnixNano()))
	b = binary.BigEndian.AppendUint64(b, uint64(h.length))
	b = binary.BigEndian.AppendUint32(b, h.checksum)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func decodeHeader(b []byte) (h header, err error) {
	if len(b) != headerBytes {
		return h, fmt.Errorf("%w: a header has %d bytes, want %d", errDamaged, len(b), headerBytes)
	}
	if b[0] != version {
		return h, fmt.Errorf("%w: a header has version %d, want %d", errDamaged, b[0], version)
	}
	const end = headerBytes - 4
	if crc32.Checksum(b[:end], castagnoli) != binary.BigEndian.Uint32(b[end:]) || b[1] > stateComplete {
		return h, fmt.Errorf("%w: the checksum of a header is wrong", errDamaged)
	}
	h = header{
		complete: b[1] == stateComplete,
		number:   binary.BigEndian.Uint64(b[2:]),
		arrived:  time.Unix(0, int64(binary.BigEndian.Uint64(b[10:]))),
		length:   int64(binary.BigEndian.Uint64(b[18:])),
		checksum: binary.BigEndian.Uint32(b[26:]),
	}
	if h.number == 0 || h.number > maxNumber || h.length <= 0 || h.length > maxLength {
		return h, fmt.Errorf("%w: a header has number %d and length %d", errDamaged, h.number, h.length)
	}
	return h, nil
}

// maxLength is larger than any body. Its number of pieces fits into 32 bits.
const maxLength = 1 << 40

// encodeSlots and decodeSlots write and read the number of slots.
func encodeSlots(n int) []byte {
	b := binary.BigEndian.AppendUint32([]byte{version}, uint32(n))
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func decodeSlots(b []byte) (int, error) {
	const end = 5
	if len(b) != end+4 || b[0] != version || crc32.Checksum(b[:end], castagnoli) != binary.BigEndian.Uint32(b[end:]) {
		return 0, fmt.Errorf("%w: the number of slots", errDamaged)
	}
	n := binary.BigEndian.Uint32(b[1:])
	if n > maxSlots {
		return 0, fmt.Errorf("%w: there are %d slots, the limit is %d", errDamaged, n, maxSlots)
	}
	return int(n), nil
}

// maxSlots limits the entries of a storage.
const maxSlots = 1 << 22
