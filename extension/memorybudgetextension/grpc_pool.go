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
	// The sizes of the buffers that are kept, as powers of two. gRPC does not give back smaller ones, and so they would be
	// counted for good.
	smallestBuffer = 11
	largestBuffer  = 20
	// inflatedLength is what gRPC asks for to read from a compressor. These buffers are a little larger than that, so that
	// the compressor knows them, and hold nothing: see [inflated].
	inflatedLength = 32 << 10
	inflatedBytes  = inflatedLength + 8
)

// bufferPool gives gRPC memory for what it receives, and counts it. A buffer that gRPC loses, as those of streams that were
// canceled, is counted until the garbage collector finds it.
type bufferPool struct {
	arrivals *arrivals
	inflated sync.Pool // of *[]byte
	sizes    [largestBuffer + 1]sync.Pool
}

// pooled is a buffer. What gRPC has is the address of its first field.
type pooled struct {
	data    []byte
	cleanup runtime.Cleanup
}

var _ mem.BufferPool = (*bufferPool)(nil)

func newBufferPool(a *arrivals) *bufferPool {
	return &bufferPool{arrivals: a, inflated: sync.Pool{New: func() any {
		buffer := make([]byte, inflatedBytes)
		return &buffer
	}}}
}

// Get returns a buffer of at least length bytes. If too much is arriving, it waits a little.
func (p *bufferPool) Get(length int) *[]byte {
	if length == inflatedLength {
		return p.inflated.Get().(*[]byte)
	}
	class := max(bits.Len(uint(max(length, 1)-1)), smallestBuffer)
	var buffer *pooled
	if class <= largestBuffer {
		buffer, _ = p.sizes[class].Get().(*pooled)
	}
	if buffer == nil {
		size := length
		if class <= largestBuffer {
			size = 1 << class
		}
		buffer = &pooled{data: make([]byte, size)}
	}
	held := int64(cap(buffer.data))
	p.arrivals.add(nil, held)
	buffer.cleanup = runtime.AddCleanup(buffer, p.arrivals.change, -held)
	buffer.data = buffer.data[:length]
	return &buffer.data
}

// Put takes a buffer back.
func (p *bufferPool) Put(data *[]byte) {
	size := cap(*data)
	if size == inflatedBytes {
		*data = (*data)[:size]
		p.inflated.Put(data)
		return
	}
	buffer := (*pooled)(unsafe.Pointer(data)) // #nosec G103 -- Get has returned the address of this field.
	buffer.cleanup.Stop()
	p.arrivals.change(-int64(size))
	if class := bits.Len(uint(size) - 1); class <= largestBuffer {
		p.sizes[class].Put(buffer)
	}
}
