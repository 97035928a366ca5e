// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"math/bits"
	"runtime"
	"sync"
	"unsafe"

	"google.golang.org/grpc/mem"
)

const (
	// The pool keeps buffers of 2^smallestBuffer to 2^largestBuffer bytes. gRPC never puts smaller ones back, so they would
	// stay in the count until the garbage collector frees them.
	smallestBuffer = 11
	largestBuffer  = 20
	// decompressLength is the length of the buffers into which gRPC reads from a compressor. The pool makes them a little
	// larger, so that [inflatingReader.Read] recognizes them. They hold a placeholder only, see [inflatedMessages].
	decompressLength = 32 << 10
	placeholderBytes = decompressLength + 8
)

// bufferPool provides the receive buffers of gRPC and counts them. gRPC does not put back the buffers of canceled streams.
// These count until the garbage collector frees them.
type bufferPool struct {
	arrivals     *arrivals
	placeholders sync.Pool // of *[]byte
	sizes        [largestBuffer + 1]sync.Pool
}

// pooledBuffer is a receive buffer. gRPC gets the address of its first field.
type pooledBuffer struct {
	data    []byte
	cleanup runtime.Cleanup
}

var _ mem.BufferPool = (*bufferPool)(nil)

func newBufferPool(a *arrivals) *bufferPool {
	return &bufferPool{arrivals: a, placeholders: sync.Pool{New: func() any {
		buffer := make([]byte, placeholderBytes)
		return &buffer
	}}}
}

// Get returns a buffer of length bytes. If arriving requests exceed their limit, it waits, see [arrivals.add].
func (p *bufferPool) Get(length int) *[]byte {
	if length == decompressLength {
		return p.placeholders.Get().(*[]byte)
	}
	class := max(bits.Len(uint(max(length, 1)-1)), smallestBuffer)
	var buffer *pooledBuffer
	if class <= largestBuffer {
		buffer, _ = p.sizes[class].Get().(*pooledBuffer)
	}
	if buffer == nil {
		size := length
		if class <= largestBuffer {
			size = 1 << class
		}
		buffer = &pooledBuffer{data: make([]byte, size)}
	}
	held := int64(cap(buffer.data))
	p.arrivals.add(held)
	buffer.cleanup = runtime.AddCleanup(buffer, p.arrivals.adjust, -held)
	buffer.data = buffer.data[:length]
	return &buffer.data
}

// Put puts a buffer of [bufferPool.Get] back.
func (p *bufferPool) Put(data *[]byte) {
	size := cap(*data)
	if size == placeholderBytes {
		*data = (*data)[:size]
		p.placeholders.Put(data)
		return
	}
	buffer := (*pooledBuffer)(unsafe.Pointer(data)) // #nosec G103 -- Get has returned the address of this field.
	buffer.cleanup.Stop()
	p.arrivals.adjust(-int64(size))
	if class := bits.Len(uint(size) - 1); class <= largestBuffer {
		p.sizes[class].Put(buffer)
	}
}
