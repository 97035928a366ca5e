// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestFlood: an ordinary request is served within 5 seconds while very many others come again and again, which need more than the budget together:
// the largest ordinary ones, which wait for processors, or small ones.
func TestFlood(t *testing.T) {
	const budget, largest = 640 << 20, 20 << 20
	for _, flood := range []struct {
		senders, size, processors int64
		sizes                     []int64
	}{
		{300, largest, 2, []int64{16 << 10, 1 << 20, 4 << 20}},
		{1500, small, 1500, []int64{16 << 10, 1 << 20, 4 << 20, 16 << 20}},
	} {
		for _, size := range flood.sizes {
			t.Run(fmt.Sprintf("%d of %d/%d", flood.senders, flood.size, size), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := New(budget, 2*time.Second)
					ctx, stop := context.WithCancel(t.Context())
					processors := make(chan struct{}, flood.processors)
					var group sync.WaitGroup
					for i := range flood.senders {
						group.Go(func() {
							time.Sleep(100 * time.Millisecond * time.Duration(i) / time.Duration(flood.senders))
							for ctx.Err() == nil {
								receive(ctx, b, flood.size, func() {
									processors <- struct{}{}
									time.Sleep(100 * time.Millisecond)
									<-processors
								})
								time.Sleep(10 * time.Millisecond)
							}
						})
					}
					time.Sleep(2 * time.Second)
					for range 4 {
						begin := time.Now()
						for !receive(t.Context(), b, size, func() {}) && time.Since(begin) < 10*time.Second {
							time.Sleep(250 * time.Millisecond)
						}
						assert.Less(t, time.Since(begin), 5*time.Second)
						time.Sleep(100 * time.Millisecond)
					}
					stop()
					group.Wait()
				})
			})
		}
	}
}

// small is the size that a request reserves at once.
const small = 640 << 10

// receive reserves size bytes by doubling, as a body that arrives, and calls work with them.
func receive(ctx context.Context, b *Budget, size int64, work func()) bool {
	r := b.Begin()
	defer r.Release()
	for bytes := min(small, size); ; bytes = min(2*bytes, size) {
		if r.Grow(ctx, bytes) != nil {
			return false
		}
		if bytes == size {
			work()
			return true
		}
	}
}
