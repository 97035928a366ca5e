// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/internal/messagememory"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Memory reserves the memory in which an exporter encodes its requests.
type Memory struct{ Budget *budget.Budget }

// Start sets Budget to the budget of the process.
func (m *Memory) Start(host component.Host) (err error) {
	m.Budget, err = budget.Of(host)
	return err
}

// WorkingMemory accounts for the memory that the encoding of one request needs, in addition to the message itself.
type WorkingMemory struct {
	reservation *budget.Reservation
	// before is the size of the reservation when the encoding began. It is for the message.
	before int64
	parts  [workingParts]int64
	// limit is the most that the parts may need together. Queues and batches never use this part of the budget, so it
	// becomes free sooner or later.
	limit int64
	// failed is the retryable error of a reservation.
	failed error
}

// The parts of working memory, see [WorkingMemory.Reserve]. Each has its own size: for the tables of the encoder and its pprof, for the compressed
// pprof, for the body of a request, and for a copy of the message.
const (
	ForEncoder = iota
	ForGzip
	ForBody
	forCopy
	workingParts
)

type workingKey struct{}

// Begin begins the encoding of a request. The caller must release its memory. The returned context carries it.
func (m *Memory) Begin(ctx context.Context) (context.Context, *WorkingMemory) {
	w := &WorkingMemory{limit: m.Budget.Size() / 2}
	// A request from a queue on disk has no reservation yet.
	h, _ := ctx.Value(heldKey{}).(heldMemory)
	if w.reservation = h.memory; w.reservation == nil {
		w.reservation, _ = m.Budget.Reserve(ctx, 0) // 0 bytes are always free.
	}
	if h.memory == nil || h.queued != nil {
		w.reservation.Accept() // The request comes from a queue, so its sender has its answer.
	}
	w.before = w.reservation.Bytes()
	return context.WithValue(ctx, workingKey{}, w), w
}

// Reserve returns a function that reserves memory for a part. The argument is the size of the whole part. The error wraps
// [pprof.ErrTooLarge] if the budget can never have that much. Any other error is retryable.
func (w *WorkingMemory) Reserve(ctx context.Context, part int) func(bytes int64) error {
	return func(bytes int64) error {
		total := w.before + bytes - w.parts[part]
		for _, size := range w.parts {
			total += size
		}
		if needed := total - w.before; needed > w.limit {
			return fmt.Errorf("%w: %w: writing it needs %d bytes, half of the budget is %d", pprof.ErrTooLarge, budget.ErrTooLarge, needed, w.limit)
		}
		err := w.reservation.Grow(ctx, total)
		switch {
		case err == nil:
			w.parts[part] = bytes
			return nil
		case errors.Is(err, budget.ErrTooLarge):
			return fmt.Errorf("%w: %w", pprof.ErrTooLarge, err)
		}
		w.failed = err
		return err
	}
}

// Failed reports whether a reservation failed with a retryable error.
func (w *WorkingMemory) Failed() bool { return w.failed != nil }

// Release releases the memory of all parts. That of the message stays reserved.
func (w *WorkingMemory) Release() { w.reservation.Shrink(w.before) }

// reserveCopy reserves the memory of a copy of a message in the working memory of ctx, if there is one.
func reserveCopy(ctx context.Context, pd pprofile.Profiles) error {
	w, found := ctx.Value(workingKey{}).(*WorkingMemory)
	if !found {
		return nil
	}
	return w.Reserve(ctx, forCopy)(messagememory.AtMost(pd))
}
