// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"

	"github.com/otelpprof/otelpprof/internal/joinederrors"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/label"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/push"
	"github.com/otelpprof/otelpprof/translator/jfr"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
)

// class is the class of an error. It determines the answer and the reason in the metrics.
type class int

const (
	classInternal class = iota
	classMalformed
	classNotPprof
	classUnknownEncoding
	classUnknownFormat
	classTooLarge
	classBadQuery
	classWrongMethod
	classUnknownPath
	classNotAllowed
	classTooSlow
	classAborted
	classBusy
	classTenantBusy
	classMemory
	classConsumerUnavailable
	classConsumerRejected
	classCount
)

// answer is how errors of a class are answered and counted.
type answer struct {
	status int
	// reason is the value of the attribute of receiver_pprof_refusals.
	reason string
	// code is the status in Connect and gRPC.
	code code
	// retryable means that the same request may succeed later. The answer has Retry-After.
	retryable bool
}

// answers has the answer for each class. An API whose clients expect another status modifies a copy.
var answers = [classCount]answer{
	classInternal:            {status: http.StatusInternalServerError, reason: "internal", code: codeInternal},
	classMalformed:           {status: http.StatusBadRequest, reason: "malformed", code: codeInvalidArgument},
	classNotPprof:            {status: http.StatusUnsupportedMediaType, reason: "not_pprof", code: codeInvalidArgument},
	classUnknownEncoding:     {status: http.StatusUnsupportedMediaType, reason: "unknown_encoding", code: codeUnimplemented},
	classUnknownFormat:       {status: http.StatusUnsupportedMediaType, reason: "unknown_format", code: codeInvalidArgument},
	classTooLarge:            {status: http.StatusRequestEntityTooLarge, reason: "too_large", code: codeResourceExhausted},
	classBadQuery:            {status: http.StatusBadRequest, reason: "bad_query", code: codeInvalidArgument},
	classWrongMethod:         {status: http.StatusMethodNotAllowed, reason: "wrong_method", code: codeUnimplemented},
	classUnknownPath:         {status: http.StatusNotFound, reason: "unknown_path", code: codeUnimplemented},
	classNotAllowed:          {status: http.StatusUnauthorized, reason: "not_allowed", code: codeUnauthenticated},
	classTooSlow:             {status: http.StatusRequestTimeout, reason: "too_slow", code: codeDeadlineExceeded},
	classAborted:             {status: http.StatusBadRequest, reason: "aborted", code: codeCanceled},
	classBusy:                {status: http.StatusServiceUnavailable, reason: "busy", code: codeUnavailable, retryable: true},
	classTenantBusy:          {status: http.StatusTooManyRequests, reason: "tenant_busy", code: codeUnavailable, retryable: true},
	classMemory:              {status: http.StatusServiceUnavailable, reason: "memory_budget", code: codeUnavailable, retryable: true},
	classConsumerUnavailable: {status: http.StatusServiceUnavailable, reason: "consumer_unavailable", code: codeUnavailable, retryable: true},
	classConsumerRejected:    {status: http.StatusBadRequest, reason: "consumer_rejected", code: codeInvalidArgument},
}

// refusal is an error with its class.
type refusal struct {
	class class
	err   error
}

// refuse returns an error of a class. format and args are those of fmt.Errorf.
func refuse(c class, format string, args ...any) error {
	return &refusal{class: c, err: fmt.Errorf(format, args...)}
}

func (r *refusal) Error() string { return r.err.Error() }

func (r *refusal) Unwrap() error { return r.err }

// classify returns the class of an error, or of an error that it wraps.
func classify(err error) class {
	if own, ok := errors.AsType[*refusal](err); ok {
		return own.class
	}
	switch {
	case isAny(err, pprof.ErrTooLarge, jfr.ErrTooLarge, text.ErrTooLarge, inflate.ErrTooLarge, push.ErrTooLarge, label.ErrTooLarge, memory.ErrTooLarge):
		return classTooLarge
	case errors.Is(err, memory.ErrExhausted):
		return classMemory
	case errors.Is(err, memory.ErrCanceled):
		return classAborted
	case isAny(err, pprof.ErrMalformed, jfr.ErrMalformed, text.ErrMalformed, inflate.ErrCorrupt, push.ErrMalformed):
		return classMalformed
	case errors.Is(err, pprof.ErrNotPprof):
		return classNotPprof
	default:
		return classInternal
	}
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// bodyError returns the error, with its class, for an error of reading a body.
func bodyError(err error) error {
	if tooMany, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return bodyTooLarge(tooMany.Limit)
	}
	if classify(err) != classInternal {
		return err
	}
	broken, network := errors.AsType[net.Error](err)
	switch {
	case network && broken.Timeout():
		return refuse(classTooSlow, "the body did not arrive within read_timeout: %w", err)
	case errors.Is(err, io.EOF):
		return refuse(classMalformed, "the body is empty")
	case network, errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.Canceled):
		return refuse(classAborted, "the body ended early: %w", err)
	default:
		// All other errors come from the chunked transfer coding.
		return refuse(classMalformed, "cannot read the body: %w", err)
	}
}

func bodyTooLarge(limit int64) error {
	return refuse(classTooLarge, "the body is larger than max_request_body_size, %d bytes", limit)
}

// consumerError returns the error, with its class, for an error of the next consumer.
func consumerError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return refuse(classAborted, "the client canceled the request before the answer: %w", err)
	case errors.Is(err, memory.ErrExhausted):
		return refuse(classMemory, "%w", err)
	case joinederrors.IsPermanent(err) && isAny(err, memory.ErrTooLarge, inflate.ErrTooLarge):
		return refuse(classTooLarge, "%w", err)
	case joinederrors.IsPermanent(err):
		return refuse(classConsumerRejected, "%w", err)
	default:
		return refuse(classConsumerUnavailable, "%w", err)
	}
}

// malformedUnless returns the class of a parse error: its own class, or else malformed.
func malformedUnless(err error) class {
	if class := classify(err); class != classInternal {
		return class
	}
	return classMalformed
}

// canceled returns the error for a request whose client stopped waiting.
func canceled(ctx context.Context) error {
	return refuse(classAborted, "the client canceled the request before the answer: %w", ctx.Err())
}

// code is a status code of gRPC and Connect: its number and its name.
type code struct {
	number int
	name   string
}

// The codes that this server returns.
var (
	codeCanceled          = code{1, "canceled"}
	codeInvalidArgument   = code{3, "invalid_argument"}
	codeDeadlineExceeded  = code{4, "deadline_exceeded"}
	codeResourceExhausted = code{8, "resource_exhausted"}
	codeUnimplemented     = code{12, "unimplemented"}
	codeInternal          = code{13, "internal"}
	codeUnavailable       = code{14, "unavailable"}
	codeUnauthenticated   = code{16, "unauthenticated"}
)
