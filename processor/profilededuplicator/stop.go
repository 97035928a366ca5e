// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	errStopped   = errors.New("cannot hold profiles: the processor is shutting down")
	errAbandoned = errors.New("cannot tell whether profiles were delivered: the next consumer did not return before the end of the shutdown")
)

// stop makes add refuse new messages, and flushes the held ones. If ctx ends before, it cancels the flushes.
func (b *batches) stop(ctx context.Context) error {
	b.mu.Lock()
	if !b.stopped {
		b.stopped = true
		close(b.stopping)
		b.closeAll(triggerShutdown) //nolint:contextcheck // a flush outlives its caller, and stop ends it below
	}
	b.mu.Unlock()
	defer b.cancel()

	done := make(chan struct{})
	go func() {
		defer close(done)
		b.running.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	b.cancel()
	select {
	case <-done:
		return fmt.Errorf("cannot flush all batches before the end of the shutdown: %w", context.Cause(ctx))
	case <-time.After(stopGrace):
		b.abandon()
		held, tenants := b.usage()
		return fmt.Errorf("cannot end the flushes of %d tenants, with %d bytes: the next consumer does not return: %w",
			tenants, held, context.Cause(ctx))
	}
}

// stopGrace is how long canceled flushes may take to return.
const stopGrace = time.Second
