// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/ulikunitz/xz/lzma"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

const (
	// maxDictionary limits the dictionary of a xz block: xz -9 has 64 MiB.
	maxDictionary = 64 << 20
	maxBlocks     = 1 << 10
	filterLZMA2   = 0x21
)

// checkBytes is the size of the checksum of a block, by the kind of the checksum.
var checkBytes = [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}

// inflateXZ inflates a xz stream such as .gnu_debugdata. The reader of the package xz allocates whatever dictionary a block asks for; this
// reads the headers of the blocks itself, and checks it before.
func inflateXZ(data []byte, memory *meter.Meter) ([]byte, error) {
	if len(data) < 12 || !bytes.HasPrefix(data, []byte("\xfd7zXZ\x00\x00")) || data[7] > 15 {
		return nil, malformed("a section is not xz")
	}
	check := checkBytes[data[7]]
	r := bytes.NewReader(data[12:])
	var out []byte
	for range maxBlocks {
		size, err := r.ReadByte()
		if err != nil {
			return nil, malformed("xz ends without an index")
		}
		if size == 0 { // The index begins.
			return out, nil
		}
		if out, err = inflateBlock(r, (int(size)+1)*4, out, memory); err != nil {
			return nil, err
		}
		read := len(data) - 12 - r.Len()
		padded := (read+3)&^3 + check
		if _, err := r.Seek(int64(padded), io.SeekStart); err != nil {
			return nil, err
		}
	}
	return nil, malformed("xz has more than %d blocks", maxBlocks)
}

// inflateBlock appends the content of a block. headerSize includes the byte that was read.
func inflateBlock(r *bytes.Reader, headerSize int, out []byte, memory *meter.Meter) ([]byte, error) {
	header := make([]byte, headerSize-1)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, malformed("xz ends in the header of a block")
	}
	dictionary, err := dictionarySize(header)
	if err != nil {
		return nil, err
	}
	if err := memory.Use(dictionary + windowBytes); err != nil {
		return nil, err
	}
	defer func() { _ = memory.Use(-dictionary - windowBytes) }()
	block, err := lzma.Reader2Config{DictCap: int(dictionary)}.NewReader2(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	part := make([]byte, 64<<10)
	for {
		n, err := block.Read(part)
		if err := memory.Use(2 * int64(n)); err != nil { // also for the copy when the slice grows
			return nil, err
		}
		if err := memory.Advance(int64(n)); err != nil {
			return nil, err
		}
		out = append(out, part[:n]...)
		if err == io.EOF { //nolint:errorlint // The package returns it as it is.
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	}
}

// dictionarySize returns the size of the dictionary of a block, from its header after the byte with the size.
func dictionarySize(header []byte) (int64, error) {
	flags, rest := header[0], header[1:]
	for _, present := range []byte{0x40, 0x80} { // the sizes of the block
		if flags&present != 0 {
			_, n := binary.Uvarint(rest)
			if n <= 0 {
				return 0, malformed("the header of a xz block")
			}
			rest = rest[n:]
		}
	}
	if flags&3 != 0 || len(rest) < 3 || rest[0] != filterLZMA2 || rest[1] != 1 || rest[2] > 40 {
		return 0, malformed("a xz block with another filter than LZMA2")
	}
	bits := rest[2]
	size := int64(2|bits&1) << (bits/2 + 11)
	if size > maxDictionary {
		return 0, malformed("a xz block with a dictionary of %d bytes, at most %d are allowed", size, maxDictionary)
	}
	return size, nil
}

// Embedded opens the ELF file in the section .gnu_debugdata, which has the symbols of a stripped file. It is nil if there is none.
func (f *File) Embedded() (*File, error) {
	s := f.Section(".gnu_debugdata")
	if s == nil {
		return nil, nil
	}
	compressed, err := f.Data(s)
	if err != nil {
		return nil, err
	}
	data, err := inflateXZ(compressed, f.memory)
	if err != nil {
		return nil, err
	}
	return Open(bytes.NewReader(data), int64(len(data)), f.memory)
}
