// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// Data returns the bytes of a section, inflated.
func (f *File) Data(s *Section) ([]byte, error) {
	data, err := f.Read(s.Offset, s.Size)
	if err != nil || s.Flags&elf.SHF_COMPRESSED == 0 {
		return data, err
	}
	header := 12
	if f.Is64 {
		header = 24
	}
	if len(data) < header {
		return nil, malformed("section %s of %d bytes has no header of its compression", s.Name, len(data))
	}
	size := uint64(f.Order.Uint32(data[4:]))
	if f.Is64 {
		size = f.Order.Uint64(data[8:])
	}
	return f.inflate(elf.CompressionType(f.Order.Uint32(data)), data[header:], size)
}

// DebugData returns the bytes of a section of DWARF, such as info, by any of its names. It is nil if there is none.
func (f *File) DebugData(name string) ([]byte, error) {
	if s := f.Section(".debug_" + name); s != nil {
		return f.Data(s)
	}
	s := f.Section(".zdebug_" + name) // GNU's older form
	if s == nil {
		return nil, nil
	}
	data, err := f.Read(s.Offset, s.Size)
	if err != nil {
		return nil, err
	}
	if len(data) < 12 || !bytes.HasPrefix(data, []byte("ZLIB")) {
		return data, nil
	}
	return f.inflate(elf.COMPRESS_ZLIB, data[12:], binary.BigEndian.Uint64(data[4:]))
}

// inflate inflates a section whose header says its size. The memory of the compressed bytes is given back.
func (f *File) inflate(kind elf.CompressionType, compressed []byte, size uint64) ([]byte, error) {
	if size > math.MaxInt32 {
		return nil, malformed("a section of %d bytes", size)
	}
	if err := f.memory.Use(int64(size)); err != nil {
		return nil, err
	}
	data, err := inflate(kind, compressed, int(size), f.memory)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot inflate a section: %w", ErrMalformed, err)
	}
	if len(data) != int(size) {
		return nil, malformed("a section has %d bytes inflated, its header says %d", len(data), size)
	}
	_ = f.memory.Use(-int64(len(compressed)))
	return data, nil
}

// windowBytes is the memory of a decoder beside its result.
const windowBytes = 256 << 10

func inflate(kind elf.CompressionType, compressed []byte, size int, memory *meter.Meter) ([]byte, error) {
	if err := memory.Need(windowBytes); err != nil {
		return nil, err
	}
	switch kind {
	case elf.COMPRESS_ZLIB:
		r, err := zlib.NewReader(bytes.NewReader(compressed))
		if err != nil {
			return nil, err
		}
		return readAll(r, size, memory)
	case elf.COMPRESS_ZSTD:
		// One call needs no window beside its result.
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(uint64(max(size, 1))))
		if err != nil {
			return nil, err
		}
		defer d.Close()
		return d.DecodeAll(compressed, make([]byte, 0, size))
	}
	return nil, fmt.Errorf("%s is not known", kind)
}

// readAll reads at most size bytes, and grows with what arrives: what the header says can be a lie.
func readAll(r io.Reader, size int, memory *meter.Meter) ([]byte, error) {
	data := make([]byte, 0, size)
	for len(data) < size {
		part := data[len(data):min(size, len(data)+1<<20)]
		n, err := io.ReadFull(r, part)
		data = data[:len(data)+n]
		if err != nil {
			return nil, err
		}
		if err := memory.Advance(int64(n)); err != nil {
			return nil, err
		}
	}
	if n, _ := r.Read(make([]byte, 1)); n > 0 {
		return nil, fmt.Errorf("more than %d bytes", size)
	}
	return data, nil
}
