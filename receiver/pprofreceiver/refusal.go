// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/translator/jfr"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
)

// refusalClass is a class of errors, and how they are answered and counted.
type refusalClass struct {
	// status is that of HTTP. It is 0 for errors of fetches, which nobody gets as an answer.
	status int
	// reason is the value of the attribute of receiver_pprof_refusals, or the outcome of a fetch.
	reason string
	// code is the status in Connect and gRPC.
	code codes.Code
	// retryable means that the same request may succeed later. The answer has Retry-After.
	retryable bool
}

// The classes. An API whose clients expect another status modifies a copy.
var (
	internalError       = refusalClass{status: http.StatusInternalServerError, reason: "internal", code: codes.Internal}
	malformed           = refusalClass{status: http.StatusBadRequest, reason: "malformed", code: codes.InvalidArgument}
	notPprof            = refusalClass{status: http.StatusUnsupportedMediaType, reason: "not_pprof", code: codes.InvalidArgument}
	unknownEncoding     = refusalClass{status: http.StatusUnsupportedMediaType, reason: "unknown_encoding", code: codes.Unimplemented}
	unknownFormat       = refusalClass{status: http.StatusUnsupportedMediaType, reason: "unknown_format", code: codes.InvalidArgument}
	tooLarge            = refusalClass{status: http.StatusRequestEntityTooLarge, reason: "too_large", code: codes.ResourceExhausted}
	badQuery            = refusalClass{status: http.StatusBadRequest, reason: "bad_query", code: codes.InvalidArgument}
	wrongMethod         = refusalClass{status: http.StatusMethodNotAllowed, reason: "wrong_method", code: codes.Unimplemented}
	unknownPath         = refusalClass{status: http.StatusNotFound, reason: "unknown_path", code: codes.Unimplemented}
	notAllowed          = refusalClass{status: http.StatusUnauthorized, reason: "not_allowed", code: codes.Unauthenticated}
	tooSlow             = refusalClass{status: http.StatusRequestTimeout, reason: "too_slow", code: codes.DeadlineExceeded}
	aborted             = refusalClass{status: http.StatusBadRequest, reason: "aborted", code: codes.Canceled}
	busy                = refusalClass{status: http.StatusServiceUnavailable, reason: "busy", code: codes.Unavailable, retryable: true}
	tenantBusy          = refusalClass{status: http.StatusTooManyRequests, reason: "tenant_busy", code: codes.Unavailable, retryable: true}
	outOfMemory         = refusalClass{status: http.StatusServiceUnavailable, reason: "memory_budget", code: codes.Unavailable, retryable: true}
	consumerUnavailable = refusalClass{status: http.StatusServiceUnavailable, reason: "consumer_unavailable", code: codes.Unavailable, retryable: true}
	consumerRejected    = refusalClass{status: http.StatusBadRequest, reason: "consumer_rejected", code: codes.InvalidArgument}

	unreachable  = refusalClass{reason: "unreachable"}
	badAnswer    = refusalClass{reason: "bad_answer"}
	profilerBusy = refusalClass{reason: "profiler_busy"}
)

var wordEnd = regexp.MustCompile("([a-z])([A-Z])")

// connectCode returns the name of the code in Connect, such as invalid_argument.
func (c refusalClass) connectCode() string {
	return strings.ToLower(wordEnd.ReplaceAllString(c.code.String(), "${1}_${2}"))
}

// classified is an error with its class.
type classified struct {
	class refusalClass
	err   error
}

// newRefusal returns an error of a class. format and args are those of fmt.Errorf.
func newRefusal(class refusalClass, format string, args ...any) error {
	return &classified{class: class, err: fmt.Errorf(format, args...)}
}

func (c *classified) Error() string { return c.err.Error() }

func (c *classified) Unwrap() error { return c.err }

// classOf returns the class of an error, or of an error that it wraps.
func classOf(err error) refusalClass {
	if own, ok := errors.AsType[*classified](err); ok {
		return own.class
	}
	switch {
	case isAny(err, pprof.ErrTooLarge, jfr.ErrTooLarge, text.ErrTooLarge, inflate.ErrTooLarge, memory.ErrTooLarge):
		return tooLarge
	case errors.Is(err, memory.ErrExhausted):
		return outOfMemory
	case errors.Is(err, memory.ErrCanceled):
		return aborted
	case isAny(err, pprof.ErrMalformed, jfr.ErrMalformed, text.ErrMalformed, inflate.ErrCorrupt):
		return malformed
	default:
		return internalError
	}
}

// isAny reports whether an error is one of these.
func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// refuseUnreadable returns the error for content that a decoder cannot read. An error with a class keeps it, others are malformed.
func refuseUnreadable(action string, err error) error {
	class := classOf(err)
	if class == internalError {
		class = malformed
	}
	return newRefusal(class, "cannot %s: %w", action, err)
}

// refusePanic, deferred, sets the error of a function whose decoder has panicked: many are made for trusted input.
func refusePanic(action string, err *error) {
	if cause := recover(); cause != nil {
		*err = newRefusal(malformed, "cannot %s: %v", action, cause)
	}
}
