// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"context"
	"runtime"
	"runtime/metrics"
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

// smallFrame is the size up to which gRPC allocates a frame itself.
const smallFrame = 1 << 10

// bufferPool provides the buffers of gRPC for received bytes, and counts them. gRPC does not put back the buffers of canceled streams.
// These count until the garbage collector frees them.
//
// Nobody knows which request a buffer is for. If the requests that are still arriving, or their buffers, exceed their share, most of these
// requests are ended, again and again.
type bufferPool struct {
	budget *memory.Budget
	// reserved counts all buffers.
	reserved *memory.Reservation
	pool     mem.BufferPool
	// requests has requestBytes of each request that is still arriving, arriving the bytes in frames of these requests.
	requests, arriving memory.Share
	// Above most bytes of the heap in use, most of the arriving requests end, above all bytes all.
	most, all int64
	// ending is held while requests end.
	ending sync.Mutex
	// watched reports whether [bufferPool.watch] runs.
	watched atomic.Bool
	// counted has the buffers in use.
	counted sync.Map // of weak.Pointer[[]byte] to runtime.Cleanup
}

var _ mem.BufferPool = (*bufferPool)(nil)

func newBufferPool(budget *memory.Budget) *bufferPool {
	// A frame has at most 16 KiB. gRPC never puts buffers of 1 KiB or less back.
	p := &bufferPool{budget: budget, reserved: budget.Begin().Accept(), pool: mem.NewTieredBufferPool(2<<10, 4<<10, 8<<10, 16<<10, compressedBytes)}
	p.requests.Limit(budget, budget.Size()/requestsPart)
	p.arriving.Limit(budget, budget.Size()/arrivingPart)
	p.most, p.all = memory.PartOfProcess(mostPercentage), memory.PartOfProcess(allPercentage)
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
		p.reserved.Add(capacity)
	}
	key := weak.Make(buffer)
	p.counted.Store(key, runtime.AddCleanup(buffer, func(capacity int64) { // It was not put back.
		p.counted.Delete(key)
		p.uncount(capacity)
	}, capacity))
	return buffer
}

// isFrame reports whether a buffer of this capacity is for a frame, or for a copy of a compressed message. gRPC has small frames of its own.
func isFrame(capacity int64) bool { return capacity > smallFrame && capacity != compressedBytes }

const (
	// Requests that are arriving may use one part in requestsPart of the budget, their buffers one part in arrivingPart.
	requestsPart, arrivingPart = 8, 4
	// While more than mostPercentage of the memory of the process is in use, most arriving requests end, above allPercentage all.
	mostPercentage, allPercentage = 60, 80
	// endInterval is how long requests that are ended need to free their memory.
	endInterval = 20 * time.Millisecond
	// maxWait limits how long a frame waits for the share of arriving requests, frameWait how long it then waits for the budget.
	maxWait, frameWait = time.Second, 100 * time.Millisecond
)

// countFrame counts a buffer for a frame. Above the share of arriving requests it waits, while these are ended.
func (p *bufferPool) countFrame(capacity int64) {
	exceeded := p.arriving.Use(capacity)
	for begin := time.Now(); exceeded && time.Since(begin) < maxWait; exceeded = p.arriving.Use(0) {
		if !p.ending.TryLock() {
			time.Sleep(endInterval / 4)
			continue
		}
		p.budget.EndMost(false)
		time.Sleep(endInterval)
		runtime.GC() // gRPC does not put back what it has not read of them.
		p.ending.Unlock()
	}
	ctx, cancel := context.WithTimeout(context.Background(), frameWait)
	defer cancel()
	frame := p.budget.Begin().Accept() // It does not wait behind others if it fits.
	if frame.Grow(ctx, capacity) != nil {
		frame.Add(capacity)
	}
	p.reserved.Join(frame)
}

// uncount says that a buffer is not in use any more.
func (p *bufferPool) uncount(capacity int64) {
	if isFrame(capacity) {
		p.arriving.Use(-capacity)
	}
	p.reserved.Add(-capacity)
}

// begin watches the requests while they arrive. It does not wait, since it would block all streams of the connection.
func (p *bufferPool) begin() {
	if p.watched.CompareAndSwap(false, true) {
		go p.watch()
	}
}

// watch ends requests while they exceed their share, or while the process has little memory: nobody counts small frames. It runs as long as requests
// arrive.
func (p *bufferPool) watch() {
	var collecting atomic.Bool
	for ; p.requests.Used() > 0; time.Sleep(endInterval) {
		live := liveHeap()
		if live > p.most || p.requests.Use(0) {
			p.budget.EndMost(live > p.all)
		}
		if live > p.most && collecting.CompareAndSwap(false, true) {
			go func() {
				runtime.GC()
				collecting.Store(false)
			}()
		}
	}
	p.watched.Store(false)
	if p.requests.Used() > 0 {
		p.begin() // Others have begun since the last look.
	}
}

// liveHeap returns how many bytes of the heap were in use at the last garbage collection.
func liveHeap() int64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return int64(live[0].Value.Uint64()) // #nosec G115 -- A heap has less than 1<<63 bytes.
}

// Put puts a buffer of [bufferPool.Get] back.
func (p *bufferPool) Put(buffer *[]byte) {
	if cleanup, counted := p.counted.LoadAndDelete(weak.Make(buffer)); counted {
		cleanup.(runtime.Cleanup).Stop()
		p.uncount(int64(cap(*buffer)))
	}
	p.pool.Put(buffer)
}
