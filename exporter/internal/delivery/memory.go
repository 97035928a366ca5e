// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Part returns a function that reserves the memory of one part of the work on the request, beside the message: for the tables of the
// encoder, for a compressed pprof, or for the body of a request. Its argument is the size of the whole part. Its error wraps
// [pprof.ErrTooLarge] if that much can never be free. Any other error is retryable.
func (p *Progress) Part(ctx context.Context) func(bytes int64) error {
	part := p.message.Split(0)
	p.parts = append(p.parts, part)
	return func(bytes int64) error {
		part.Shrink(bytes)
		err := part.Grow(ctx, bytes)
		if errors.Is(err, memory.ErrTooLarge) {
			err = fmt.Errorf("%w: %w", pprof.ErrTooLarge, err)
		}
		return err
	}
}

// Release releases the memory of all parts. That of the message stays reserved.
func (p *Progress) Release() {
	for _, part := range p.parts {
		part.Release()
	}
}
