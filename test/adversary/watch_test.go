// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"sync"
	"time"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
)

// watch looks at the anonymous memory of a process every ten milliseconds, and ends the process where it takes so much
// that it would harm the machine.
type watch struct {
	running *gateway.Gateway
	ceiling int64
	gone    sync.WaitGroup

	mu     sync.Mutex
	peak   int64
	killed bool
}

// startWatch watches until the process has ended. Above ceiling bytes it is killed.
func startWatch(running *gateway.Gateway, ceiling int64) *watch {
	w := &watch{running: running, ceiling: ceiling}
	w.gone.Go(func() {
		for running.Running() {
			w.look()
			time.Sleep(10 * time.Millisecond)
		}
	})
	return w
}

func (w *watch) look() {
	process, err := w.running.Process()
	if err != nil {
		return // it is gone, or going
	}
	w.mu.Lock()
	w.peak = max(w.peak, process.Anonymous)
	kill := process.Anonymous > w.ceiling
	w.killed = w.killed || kill
	w.mu.Unlock()
	if kill {
		w.running.Kill()
	}
}

// begin forgets the peak so far.
func (w *watch) begin() {
	w.mu.Lock()
	w.peak = 0
	w.mu.Unlock()
	w.look()
}

// largest is the peak since begin, and tells whether it was so large that the process was killed.
func (w *watch) largest() (peak int64, killed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.peak, w.killed
}
