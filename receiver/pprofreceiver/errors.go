// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/otelpprof/otelpprof/internal/joinederrors"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/refusal"
)

// bodyError returns the error, with its class, for an error of reading a body.
func bodyError(err error) error {
	if tooMany, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return bodyTooLarge(tooMany.Limit)
	}
	if refusal.Of(err) != refusal.Internal {
		return err
	}
	broken, network := errors.AsType[net.Error](err)
	switch {
	case network && broken.Timeout():
		return refusal.New(refusal.TooSlow, "the body did not arrive within read_timeout: %w", err)
	case errors.Is(err, io.EOF):
		return refusal.New(refusal.Malformed, "the body is empty")
	case network, errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.Canceled):
		return refusal.New(refusal.Aborted, "the body ended early: %w", err)
	default:
		// All other errors come from the chunked transfer coding.
		return refusal.New(refusal.Malformed, "cannot read the body: %w", err)
	}
}

func bodyTooLarge(limit int64) error {
	return refusal.New(refusal.TooLarge, "the body is larger than max_request_body_size, %d bytes", limit)
}

// consumerError returns the error, with its class, for an error of the next consumer.
func consumerError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return refusal.New(refusal.Aborted, "the client canceled the request before the answer: %w", err)
	case errors.Is(err, memory.ErrExhausted):
		return refusal.New(refusal.Memory, "%w", err)
	case joinederrors.IsPermanent(err) && refusal.IsAny(err, memory.ErrTooLarge, inflate.ErrTooLarge):
		return refusal.New(refusal.TooLarge, "%w", err)
	case joinederrors.IsPermanent(err):
		return refusal.New(refusal.ConsumerRejected, "%w", err)
	default:
		return refusal.New(refusal.ConsumerUnavailable, "%w", err)
	}
}

// canceled returns the error for a request whose client stopped waiting.
func canceled(ctx context.Context) error {
	return refusal.New(refusal.Aborted, "the client canceled the request before the answer: %w", ctx.Err())
}
