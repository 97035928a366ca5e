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

// compressedBytes is the size of the buffers into which gRPC reads from a compressor. It asks for 32 KiB. The pool has larger ones, which
// [received.Read] recognizes.
const compressedBytes = 32<<10 + 8

// bufferPool provides the buffers of gRPC for received bytes, and counts them. gRPC does not put back the buffers of canceled streams.
// These count until the garbage collector frees them.
//
// Nobody knows which request a buffer is for. If the requests that are still arriving, or their buffers, exceed their share, most of these
// requests are ended, again and again.
type bufferPool struct {
	budget *memory.Budget
	pool   mem.BufferPool
	// requests has requestBytes of each request that is still arriving, arriving the bytes in frames of these requests.
	requests, arriving memory.Share
	// ending is held while requests end.
	ending sync.Mutex
	// relieving reports whether requests end in the background.
	relieving atomic.Bool
	// counted has the buffers in use.
	counted sync.Map // of weak.Pointer[[]byte] to runtime.Cleanup
}

var _ mem.BufferPool = (*bufferPool)(nil)

func newBufferPool(budget *memory.Budget) *bufferPool {
	// A frame has at most 16 KiB. gRPC never puts buffers of 1 KiB or less back.
	p := &bufferPool{budget: budget, pool: mem.NewTieredBufferPool(2<<10, 4<<10, 8<<10, 16<<10, compressedBytes)}
	p.requests.Limit(budget, budget.Size()/requestsPart)
	p.arriving.Limit(budget, budget.Size()/arrivingPart)
	return p
}

// Get returns a buffer of length bytes. One for a frame waits until there is memory: of a connection, one at a time. Copies of messages that have
// arrived do not wait: nothing could end these requests, and they might wait for each other.
func (p *bufferPool) Get(length int) *[]byte {
	buffer := p.pool.Get(length)
	capacity := int64(cap(*buffer))
	if isFrame(capacity) {
		p.countFrame(capacity)
	} else {
		p.budget.Count(capacity, 0)
	}
	key := weak.Make(buffer)
	p.counted.Store(key, runtime.AddCleanup(buffer, func(capacity int64) { // It was not put back.
		p.counted.Delete(key)
		p.uncount(capacity)
	}, capacity))
	return buffer
}

// isFrame reports whether a buffer of this capacity is for a frame, or for a copy of a compressed message.
func isFrame(capacity int64) bool { return capacity != compressedBytes }

const (
	// Requests that are arriving may use one part in requestsPart of the budget, their buffers one part in arrivingPart.
	requestsPart, arrivingPart = 8, 4
	// endInterval is how long requests that are ended need to free their memory.
	endInterval = 20 * time.Millisecond
	// maxWait limits how long a buffer waits for the share of arriving requests, and then for the budget.
	maxWait = time.Second
)

// countFrame counts a buffer for a frame. Above the share of arriving requests it waits, while these are ended.
func (p *bufferPool) countFrame(capacity int64) {
	exceeded := p.arriving.Use(capacity)
	for begin := time.Now(); exceeded && time.Since(begin) < maxWait; exceeded = p.arriving.Use(0) {
		if !p.ending.TryLock() {
			time.Sleep(endInterval / 4)
			continue
		}
		p.budget.EndMost()
		time.Sleep(endInterval)
		runtime.GC() // gRPC does not put back what it has not read of them.
		p.ending.Unlock()
	}
	p.budget.Count(capacity, maxWait)
}

// uncount says that a buffer is not in use any more.
func (p *bufferPool) uncount(capacity int64) {
	if isFrame(capacity) {
		p.arriving.Use(-capacity)
	}
	p.budget.Count(-capacity, 0)
}

// begin adds a request to the share of requests. It does not wait, since it would block all streams of the connection: above the share,
// requests end in the background.
func (p *bufferPool) begin(bytes int64) {
	if !p.requests.Use(bytes) || !p.relieving.CompareAndSwap(false, true) {
		return
	}
	go func() {
		for p.requests.Use(0) {
			p.budget.EndMost()
			time.Sleep(endInterval)
		}
		p.relieving.Store(false)
		p.begin(0) // Others may have begun since the last look.
	}()
}

// Put puts a buffer of [bufferPool.Get] back.
func (p *bufferPool) Put(buffer *[]byte) {
	if cleanup, counted := p.counted.LoadAndDelete(weak.Make(buffer)); counted {
		cleanup.(runtime.Cleanup).Stop()
		p.uncount(int64(cap(*buffer)))
	}
	p.pool.Put(buffer)
}
