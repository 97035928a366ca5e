// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/internal/wire/otlpwire"
)

var (
	errTooSlow  = errors.New("request took too long to arrive")
	errAborted  = errors.New("the client ended the request")
	errStopping = errors.New("the server is shutting down")
)

// retryAfter is how long a client is asked to wait after a retryable refusal.
const retryAfter = time.Second

// refusal is a class of refusals: the reason that is counted, and the code that the client gets.
type refusal struct {
	reason string
	code   codes.Code
	http   int
}

var (
	exhausted = refusal{"exhausted", codes.Unavailable, http.StatusServiceUnavailable}
	tooSlow   = refusal{"too_slow", codes.Unavailable, http.StatusServiceUnavailable}
	tooLarge  = refusal{"too_large", codes.ResourceExhausted, http.StatusRequestEntityTooLarge}
	tooDeep   = refusal{"too_deep", codes.InvalidArgument, http.StatusBadRequest}
	aborted   = refusal{"aborted", codes.Canceled, http.StatusBadRequest}
	malformed = refusal{"malformed", codes.InvalidArgument, http.StatusBadRequest}
)

// refusalOf returns the class of an error.
func refusalOf(err error) refusal {
	var body *http.MaxBytesError
	switch {
	case errors.Is(err, memory.ErrExhausted), errors.Is(err, context.DeadlineExceeded):
		return exhausted
	case errors.Is(err, errTooSlow), errors.Is(err, errStopping):
		return tooSlow
	case errors.Is(err, memory.ErrTooLarge), errors.Is(err, inflate.ErrTooLarge), errors.As(err, &body):
		return tooLarge
	case errors.Is(err, otlpwire.ErrTooDeep):
		return tooDeep
	case errors.Is(err, errAborted), errors.Is(err, memory.ErrCanceled):
		return aborted
	default:
		return malformed
	}
}

// refuse counts a refusal. It returns its class and the status for the client.
func (m *memoryBudget) refuse(ctx context.Context, err error) (refusal, *status.Status) {
	r := refusalOf(err)
	m.countRefusal(ctx, r)
	s := status.New(r.code, err.Error())
	if r.code == codes.Unavailable {
		if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(retryAfter)}); err == nil {
			s = detailed
		}
	}
	return r, s
}

func (m *memoryBudget) countRefusal(ctx context.Context, r refusal) {
	m.telemetry.ExtensionMemoryBudgetRefusals.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", r.reason)))
}
