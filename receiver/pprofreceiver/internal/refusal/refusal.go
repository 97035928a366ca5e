// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package refusal classifies errors. The class of an error determines the answer, and the reason in the metrics.
package refusal

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/translator/jfr"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
)

// Class is the class of an error. It determines the answer and the reason in the metrics.
type Class int

// The classes, see [Answers].
const (
	Internal Class = iota
	Malformed
	NotPprof
	UnknownEncoding
	UnknownFormat
	TooLarge
	BadQuery
	WrongMethod
	UnknownPath
	NotAllowed
	TooSlow
	Aborted
	Busy
	TenantBusy
	Memory
	ConsumerUnavailable
	ConsumerRejected
	count
)

// Answer is how errors of a class are answered and counted.
type Answer struct {
	// Status is that of HTTP.
	Status int
	// Reason is the value of the attribute of receiver_pprof_refusals.
	Reason string
	// Code is the status in Connect and gRPC.
	Code Code
	// Retryable means that the same request may succeed later. The answer has Retry-After.
	Retryable bool
}

// Answers has the answer for each class. An API whose clients expect another status modifies a copy.
var Answers = [count]Answer{
	Internal:            {Status: http.StatusInternalServerError, Reason: "internal", Code: codeInternal},
	Malformed:           {Status: http.StatusBadRequest, Reason: "malformed", Code: codeInvalidArgument},
	NotPprof:            {Status: http.StatusUnsupportedMediaType, Reason: "not_pprof", Code: codeInvalidArgument},
	UnknownEncoding:     {Status: http.StatusUnsupportedMediaType, Reason: "unknown_encoding", Code: codeUnimplemented},
	UnknownFormat:       {Status: http.StatusUnsupportedMediaType, Reason: "unknown_format", Code: codeInvalidArgument},
	TooLarge:            {Status: http.StatusRequestEntityTooLarge, Reason: "too_large", Code: codeResourceExhausted},
	BadQuery:            {Status: http.StatusBadRequest, Reason: "bad_query", Code: codeInvalidArgument},
	WrongMethod:         {Status: http.StatusMethodNotAllowed, Reason: "wrong_method", Code: codeUnimplemented},
	UnknownPath:         {Status: http.StatusNotFound, Reason: "unknown_path", Code: codeUnimplemented},
	NotAllowed:          {Status: http.StatusUnauthorized, Reason: "not_allowed", Code: codeUnauthenticated},
	TooSlow:             {Status: http.StatusRequestTimeout, Reason: "too_slow", Code: codeDeadlineExceeded},
	Aborted:             {Status: http.StatusBadRequest, Reason: "aborted", Code: codeCanceled},
	Busy:                {Status: http.StatusServiceUnavailable, Reason: "busy", Code: codeUnavailable, Retryable: true},
	TenantBusy:          {Status: http.StatusTooManyRequests, Reason: "tenant_busy", Code: codeUnavailable, Retryable: true},
	Memory:              {Status: http.StatusServiceUnavailable, Reason: "memory_budget", Code: codeUnavailable, Retryable: true},
	ConsumerUnavailable: {Status: http.StatusServiceUnavailable, Reason: "consumer_unavailable", Code: codeUnavailable, Retryable: true},
	ConsumerRejected:    {Status: http.StatusBadRequest, Reason: "consumer_rejected", Code: codeInvalidArgument},
}

// classified is an error with its class.
type classified struct {
	class Class
	err   error
}

// New returns an error of a class. format and args are those of fmt.Errorf.
func New(class Class, format string, args ...any) error {
	return &classified{class: class, err: fmt.Errorf(format, args...)}
}

func (c *classified) Error() string { return c.err.Error() }

func (c *classified) Unwrap() error { return c.err }

// Of returns the class of an error, or of an error that it wraps.
func Of(err error) Class {
	if own, ok := errors.AsType[*classified](err); ok {
		return own.class
	}
	switch {
	case IsAny(err, pprof.ErrTooLarge, jfr.ErrTooLarge, text.ErrTooLarge, inflate.ErrTooLarge, memory.ErrTooLarge):
		return TooLarge
	case errors.Is(err, memory.ErrExhausted):
		return Memory
	case errors.Is(err, memory.ErrCanceled):
		return Aborted
	case IsAny(err, pprof.ErrMalformed, jfr.ErrMalformed, text.ErrMalformed, inflate.ErrCorrupt):
		return Malformed
	case errors.Is(err, pprof.ErrNotPprof):
		return NotPprof
	default:
		return Internal
	}
}

// IsAny reports whether an error is one of these.
func IsAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// MalformedUnless returns the class of a parse error: its own class, or else malformed.
func MalformedUnless(err error) Class {
	if class := Of(err); class != Internal {
		return class
	}
	return Malformed
}

// Code is a status code of gRPC and Connect.
type Code struct {
	Number int
	Name   string
}

// The codes that this server returns.
var (
	codeCanceled          = Code{1, "canceled"}
	codeInvalidArgument   = Code{3, "invalid_argument"}
	codeDeadlineExceeded  = Code{4, "deadline_exceeded"}
	codeResourceExhausted = Code{8, "resource_exhausted"}
	codeUnimplemented     = Code{12, "unimplemented"}
	codeInternal          = Code{13, "internal"}
	codeUnavailable       = Code{14, "unavailable"}
	codeUnauthenticated   = Code{16, "unauthenticated"}
)
