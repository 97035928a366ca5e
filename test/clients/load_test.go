// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"crypto/sha256"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Clients that have no end, or leave their connections open.
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("github.com/grafana/pyroscope-go/upstream/remote.(*Remote).handleJobs"),
		goleak.IgnoreAnyFunction("github.com/DataDog/datadog-go/v5/statsd.(*sender).sendLoop"),
	)
}

// hot is the name of what every client must find.
const hot = "clients.hotFunction"

// load is work to profile, until it is stopped: CPU time, memory that is held, and goroutines that wait for each other.
type load struct {
	stop    context.CancelFunc
	running sync.WaitGroup
	mu      sync.Mutex
	held    [][]byte
}

// startLoad begins work with labels, key and value by turns.
func startLoad(t *testing.T, labels ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{stop: cancel}
	for range 2 {
		l.running.Go(func() {
			pprof.Do(ctx, pprof.Labels(labels...), func(ctx context.Context) {
				for ctx.Err() == nil {
					hotFunction(l)
				}
			})
		})
	}
	t.Cleanup(func() {
		l.stop()
		l.running.Wait()
	})
}

// hotFunction works, holds memory, and lets others wait.
//
//go:noinline
func hotFunction(l *load) {
	l.mu.Lock()
	defer l.mu.Unlock()
	block := make([]byte, 1<<20)
	for until := time.Now().Add(5 * time.Millisecond); time.Now().Before(until); {
		sum := sha256.Sum256(block[:4096])
		copy(block, sum[:])
	}
	l.held = append(l.held, block)
	if len(l.held) > 32 {
		l.held = l.held[1:]
	}
}

// profileContention has the process record mutexes and blocking, until the test ends.
func profileContention(t *testing.T) {
	t.Helper()
	before := runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	t.Cleanup(func() {
		runtime.SetMutexProfileFraction(before)
		runtime.SetBlockProfileRate(0)
	})
}
