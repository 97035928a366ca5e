// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package inflate

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/otelpprof/otelpprof/internal/scratch"
)

const (
	// maxBlock is the largest decompressed size of a zstd block.
	maxBlock = 128 << 10
	// maxCountWindow is the largest window for counting. It is the limit of RFC 9659 for HTTP.
	maxCountWindow = 8 << 20
	// maxFrames limits the frames of a payload. Each costs time, even without content.
	maxFrames = 10_000
)

// zstdReaderBytes is the most memory that a zstd decoder uses without input and window: buffers for a block and its literals,
// and tables.
const zstdReaderBytes = 512 << 10

// zstdReaders decode from memory to memory. So they need no window buffers and no goroutines.
var zstdReaders scratch.Keeper[zstd.Decoder]

func newZstdReader() *zstd.Decoder {
	// The options are constants and in range: there is no error.
	decoder, _ := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecodeAllCapLimit(true))
	return decoder
}

func (t *inflater) zstd(dst, src []byte, limit int) ([]byte, error) {
	size, err := t.measureZstd(src, limit)
	if err != nil {
		return dst, err
	}
	own := min(zstdReaderBytes, 64<<10+4*size)
	t.working += own
	defer func() { t.working -= own }()
	if dst, err = t.grow(dst, size); err != nil {
		return dst, err
	}
	reader := zstdReaders.Get()
	if reader == nil {
		reader = newZstdReader()
	}
	defer func() {
		_, _ = reader.DecodeAll(nil, nil) // Else the reader refers to the result until its next use.
		zstdReaders.Put(reader, own)
	}()
	for len(src) > 0 {
		frame, err := readFrame(src)
		if err != nil {
			return dst, t.corrupt("zstd", err)
		}
		if err := t.advance(frame.length); err != nil {
			return dst, err
		}
		// Each frame is decoded separately: the size limit of the decoder is exact only for a single frame.
		space := dst[len(dst):min(cap(dst), limit)]
		out, err := reader.DecodeAll(src[:frame.length], space[:0:len(space)])
		t.produced(len(dst) + len(out))
		if errors.Is(err, zstd.ErrDecoderSizeExceeded) && size == limit {
			return dst, tooLarge(limit)
		}
		if err != nil {
			return dst, t.corrupt("zstd", err)
		}
		dst = append(dst, out...) // This copies nothing: out is in space, unless the decoder moved it.
		src = src[frame.length:]
	}
	return dst, nil
}

// measureZstd returns a capacity that is enough for the decompressed src, at most limit. Usually it reads only the headers of
// the frames. If these do not tell whether src is within limit, it decompresses src to count its bytes.
func (t *inflater) measureZstd(src []byte, limit int) (int, error) {
	var least, most, window uint64
	frames := 0
	for rest := src; len(rest) > 0; frames++ {
		if frames == maxFrames {
			return 0, fmt.Errorf("%w: more than %d frames of zstd", ErrTooLarge, maxFrames)
		}
		frame, err := readFrame(rest)
		if err != nil {
			return 0, t.corrupt("zstd", err)
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
	if err := t.need(int(window) + 2*zstdReaderBytes); err != nil {
		return 0, err
	}
	return t.countZstd(src, limit)
}

// countZstd decodes src only to count its bytes. This is rare, so the decoder and its window are not pooled.
func (t *inflater) countZstd(src []byte, limit int) (int, error) {
	decoder, err := zstd.NewReader(&source{rest: src, inflater: t},
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxCountWindow))
	if err != nil {
		return 0, t.corrupt("zstd", err)
	}
	defer decoder.Close()
	size, err := count(decoder, limit)
	t.produced(size)
	return size, t.corrupt("zstd", err)
}

// zstdFrame is the information in the headers of a frame.
type zstdFrame struct {
	length      int    // compressed size
	least, most uint64 // bounds of the decompressed size
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

// readBlocks reads the block headers. Each has three bytes: the last-block flag, two bits for the type, and the size.
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
