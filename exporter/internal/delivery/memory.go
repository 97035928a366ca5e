// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/memory/size"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// WorkingMemory has the reservations of the memory that the encoding of one request needs beside the message.
type WorkingMemory struct {
	message *memory.Reservation
	parts   []*memory.Reservation
	// failed is the retryable error of a reservation.
	failed error
}

type workingKey struct{}

// BeginWork begins the encoding of the request of ctx. The caller must release its memory. The returned context carries it.
func BeginWork(ctx context.Context) (context.Context, *WorkingMemory) {
	w := &WorkingMemory{message: memory.FromContext(ctx)}
	return context.WithValue(ctx, workingKey{}, w), w
}

// Part returns a function that reserves the memory of one part of the work: for the tables of the encoder, for a compressed pprof, or
// for the body of a request. Its argument is the size of the whole part. Its error wraps [pprof.ErrTooLarge] if the budget can never
// have that much. Any other error is retryable.
func (w *WorkingMemory) Part(ctx context.Context) func(bytes int64) error {
	part := w.message.Split(0)
	w.parts = append(w.parts, part)
	return func(bytes int64) error {
		part.Shrink(bytes)
		err := part.Grow(ctx, bytes)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, memory.ErrTooLarge):
			return fmt.Errorf("%w: %w", pprof.ErrTooLarge, err)
		}
		w.failed = err
		return err
	}
}

// Failed reports whether a reservation failed with a retryable error.
func (w *WorkingMemory) Failed() bool { return w.failed != nil }

// Release releases the memory of all parts. That of the message stays reserved.
func (w *WorkingMemory) Release() {
	for _, part := range w.parts {
		part.Release()
	}
}

// reserveCopy reserves the memory of a copy of a message in the working memory of ctx, if there is one.
func reserveCopy(ctx context.Context, pd pprofile.Profiles) error {
	w, found := ctx.Value(workingKey{}).(*WorkingMemory)
	if !found {
		return nil
	}
	return w.Part(ctx)(size.Of(pd))
}
