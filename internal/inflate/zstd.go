// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package inflate

import (
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/otelpprof/otelpprof/internal/scratch"
)

const (
	// maxBlock is the most that one zstd block yields.
	maxBlock = 128 << 10
	// maxCountWindow is the largest window that is set up only to count. It is what RFC 9659 allows in HTTP.
	maxCountWindow = 8 << 20
)

// zstdReaderBytes is the most that a zstd decoder takes beside its input and its window: buffers for a block, for its
// literals, and its tables.
const zstdReaderBytes = 512 << 10

// zstdReader decodes from memory to memory, without windows of its own and without goroutines.
type zstdReader struct {
	*zstd.Decoder
}

var zstdReaders scratch.Keeper[zstdReader]

func newZstdReader() *zstdReader {
	// The options are constants and in range: there is no error.
	decoder, _ := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecodeAllCapLimit(true))
	return &zstdReader{decoder}
}

func (t *taker) appendZstd(dst, src []byte, limit int) ([]byte, error) {
	size, err := t.measureZstd(src, limit)
	if err != nil {
		return dst, err
	}
	own := min(zstdReaderBytes, 64<<10+4*size)
	t.held += own
	defer func() { t.held -= own }()
	if dst, err = t.grow(dst, size); err != nil {
		return dst, err
	}
	reader := zstdReaders.Get()
	if reader == nil {
		reader = newZstdReader()
	}
	defer zstdReaders.Put(reader, own)
	base := len(dst)
	for len(src) > 0 {
		frame, err := readFrame(src)
		if err != nil {
			return dst, corrupt("zstd", err)
		}
		// One frame at a time, each into space of its own: the decoder's cap is exact only then.
		space := dst[len(dst):min(cap(dst), base+limit)]
		out, err := reader.DecodeAll(src[:frame.length], space[:0:len(space)])
		if errors.Is(err, zstd.ErrDecoderSizeExceeded) && size == limit {
			return dst, tooLarge(limit)
		}
		if err != nil {
			return dst, corrupt("zstd", err)
		}
		dst = append(dst, out...) // Onto itself, as long as the decoder stayed in its space.
		src = src[frame.length:]
	}
	return dst, nil
}

// measureZstd walks the frames of src without decoding them and returns space that is enough for what they yield, at
// most limit. Where the walk leaves open whether src stays within limit, it is counted.
func (t *taker) measureZstd(src []byte, limit int) (int, error) {
	var least, most, window uint64
	for rest := src; len(rest) > 0; {
		frame, err := readFrame(rest)
		if err != nil {
			return 0, corrupt("zstd", err)
		}
		least += frame.least
		most += frame.most
		window = max(window, frame.window)
		rest = rest[frame.length:]
	}
	switch {
	case least > uint64(limit):
		return 0, tooLarge(limit)
	case most <= uint64(limit):
		return int(most), nil
	case window > maxCountWindow:
		return limit, nil
	}
	if err := t.ask(int(window) + 2*zstdReaderBytes); err != nil {
		return 0, err
	}
	return countZstd(src, limit)
}

// countZstd decodes src through a window. It is rare: the decoder with its window is not kept.
func countZstd(src []byte, limit int) (int, error) {
	decoder, err := zstd.NewReader(bytes.NewReader(src),
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxCountWindow))
	if err != nil {
		return 0, corrupt("zstd", err)
	}
	defer decoder.Close()
	size, err := count(decoder, make([]byte, 16<<10), limit)
	if err != nil && !errors.Is(err, ErrTooLarge) {
		return 0, corrupt("zstd", err)
	}
	return size, err
}

// zstdFrame is what the headers of a frame say of it.
type zstdFrame struct {
	length      int    // of the frame in its compressed form
	least, most uint64 // that it can yield
	window      uint64
}

// readFrame reads the headers of the frame at the start of src, and of its blocks.
func readFrame(src []byte) (zstdFrame, error) {
	var header zstd.Header
	if err := header.Decode(src[:min(len(src), zstd.HeaderMaxSize)]); err != nil {
		return zstdFrame{}, err
	}
	if header.Skippable {
		length := uint64(header.HeaderSize) + uint64(header.SkippableSize)
		if length > uint64(len(src)) {
			return zstdFrame{}, io.ErrUnexpectedEOF
		}
		return zstdFrame{length: int(length)}, nil
	}
	frame := zstdFrame{length: header.HeaderSize, window: header.WindowSize}
	if err := frame.readBlocks(src); err != nil {
		return zstdFrame{}, err
	}
	if header.HasCheckSum {
		frame.length += 4
	}
	if frame.length > len(src) {
		return zstdFrame{}, io.ErrUnexpectedEOF
	}
	if header.HasFCS {
		if header.FrameContentSize < frame.least || header.FrameContentSize > frame.most {
			return zstdFrame{}, zstd.ErrFrameSizeMismatch
		}
		frame.least, frame.most = header.FrameContentSize, header.FrameContentSize
	}
	return frame, nil
}

// readBlocks goes from block header to block header: three bytes that hold the last-block flag, two bits of type and
// the size.
func (f *zstdFrame) readBlocks(src []byte) error {
	for last := false; !last; {
		if len(src)-f.length < 3 {
			return io.ErrUnexpectedEOF
		}
		b := src[f.length : f.length+3]
		header := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
		last = header&1 != 0
		size := header >> 3
		onWire := int(size)
		switch header >> 1 & 3 {
		case 0: // raw
			f.least += uint64(size)
			f.most += uint64(size)
		case 1: // one byte, repeated
			f.least += uint64(size)
			f.most += uint64(size)
			onWire = 1
		case 2: // compressed
			f.most += maxBlock
		default:
			return zstd.ErrReservedBlockType
		}
		f.length += 3
		if onWire > len(src)-f.length {
			return io.ErrUnexpectedEOF
		}
		f.length += onWire
	}
	return nil
}
