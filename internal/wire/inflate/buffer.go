// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package inflate

import "sync"

const (
	// aboveBytes is the size above which a buffer is large. It is used again only for a content that has reserved most of it: requests that
	// wait for memory would hold what they got from others, and nobody would count it.
	aboveBytes = 4 << 20
	// mostBytes is the size above which a buffer is not used again.
	mostBytes = 48 << 20
)

// large has large buffers until the second garbage collection.
var large sync.Pool // of *[]byte

// Free lets the next call of [Into] that needs much memory use a large buffer, which becomes nil. Others stay. The caller must not use the
// content afterwards.
func Free(buffer *[]byte) {
	if cap(*buffer) <= aboveBytes {
		return
	}
	freed := *buffer
	*buffer = nil
	if cap(freed) <= mostBytes {
		large.Put(&freed)
	}
}

// newBuffer returns an empty buffer of at least this capacity, and at most a quarter more.
func newBuffer(capacity int) []byte {
	if capacity > aboveBytes {
		kept, _ := large.Get().(*[]byte)
		switch {
		case kept == nil || cap(*kept) < capacity:
		case cap(*kept) <= capacity+capacity/4:
			return (*kept)[:0]
		default:
			large.Put(kept) // The same content may need it when it is read further.
		}
	}
	return make([]byte, 0, capacity)
}
