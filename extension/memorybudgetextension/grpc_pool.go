// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"google.golang.org/grpc/mem"

	"github.com/otelpprof/otelpprof/internal/memory"
)

// decompressLength is the length of the buffers into which gRPC reads from a compressor. The pool makes them a little larger, so that
// [received.Read] recognizes them.
const (
	decompressLength = 32 << 10
	compressedBytes  = decompressLength + 8
)

// smallestBuffer is the least size of a buffer. gRPC never puts smaller ones back.
const smallestBuffer = 1 << 11

// bufferExponents are the sizes of pooled buffers as powers of two.
var bufferExponents = []uint8{11, 12, 13, 14, 15, 16, 17, 18, 19, 20}

// bufferPool provides the buffers of gRPC for received bytes, and counts them. gRPC does not put back the buffers of canceled streams.
// These count until the garbage collector frees them.
//
// Nobody knows which request a buffer is for. If the buffers of requests that are still arriving exceed their share, most of these requests
// are ended, again and again.
type bufferPool struct {
	budget *memory.Budget
	pool   mem.BufferPool
	// arriving is the number of bytes in buffers of requests that are still arriving.
	arriving atomic.Int64
	// ending is held while requests end.
	ending sync.Mutex
	// compressed has buffers of compressedBytes.
	compressed sync.Pool // of *[]byte
	// counted has the buffers in use.
	counted sync.Map // of weak.Pointer[[]byte] to runtime.Cleanup
}

var _ mem.BufferPool = (*bufferPool)(nil)

func newBufferPool(budget *memory.Budget) *bufferPool {
	pool, _ := mem.NewBinaryTieredBufferPool(bufferExponents...) // The exponents are constants: there is no error.
	return &bufferPool{budget: budget, pool: pool, compressed: sync.Pool{New: func() any {
		buffer := make([]byte, compressedBytes)
		return &buffer
	}}}
}

// Get returns a buffer of length bytes. It waits for memory before that, see [memory.Budget.Count].
func (p *bufferPool) Get(length int) *[]byte {
	size := max(length, smallestBuffer)
	p.count(int64(size))
	var buffer *[]byte
	if length == decompressLength {
		buffer = p.compressed.Get().(*[]byte)
	} else {
		buffer = p.pool.Get(size)
	}
	p.count(int64(cap(*buffer) - size))
	key := weak.Make(buffer)
	p.counted.Store(key, runtime.AddCleanup(buffer, p.forget, dropped{key, int64(cap(*buffer))}))
	*buffer = (*buffer)[:length]
	return buffer
}

// dropped is a buffer that was not put back.
type dropped struct {
	key   weak.Pointer[[]byte]
	bytes int64
}

func (p *bufferPool) forget(d dropped) {
	p.counted.Delete(d.key)
	p.count(-d.bytes)
}

const (
	// arrivingPart: buffers of arriving requests may use one part in arrivingPart of the budget.
	arrivingPart = 4
	// endInterval is how long requests that are ended need to free their memory.
	endInterval = 20 * time.Millisecond
	// maxWait limits how long a buffer waits for the share of arriving requests.
	maxWait = time.Second
)

// count counts bytes of buffers. Above the share of arriving requests it waits, while these are ended.
func (p *bufferPool) count(bytes int64) {
	arriving, share := p.arriving.Add(bytes), p.budget.Size()/arrivingPart
	for begin := time.Now(); bytes > 0 && arriving > share && time.Since(begin) < maxWait; arriving = p.arriving.Load() {
		if !p.ending.TryLock() {
			time.Sleep(endInterval / 4)
			continue
		}
		p.budget.EndMost()
		time.Sleep(endInterval)
		runtime.GC() // gRPC does not put back what it has not read of them.
		p.ending.Unlock()
	}
	p.budget.Count(bytes)
}

// Put puts a buffer of [bufferPool.Get] back.
func (p *bufferPool) Put(buffer *[]byte) {
	if cleanup, counted := p.counted.LoadAndDelete(weak.Make(buffer)); counted {
		cleanup.(runtime.Cleanup).Stop()
		p.count(-int64(cap(*buffer)))
	}
	if cap(*buffer) == compressedBytes {
		p.compressed.Put(buffer)
	} else {
		p.pool.Put(buffer)
	}
}
