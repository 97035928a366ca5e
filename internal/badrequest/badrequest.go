// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package badrequest makes errors that blame the request. To the Collector's OTLP receiver any other permanent error is the
// fault of its own side, which it answers with Internal, or 500.
package badrequest

import (
	"fmt"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type badRequest struct{ error }

// Errorf returns a permanent error about a request that will fail again: the OTLP receiver answers it with InvalidArgument, or
// 400, and so does the receiver pprof. format and args are those of [fmt.Errorf].
func Errorf(format string, args ...any) error {
	return consumererror.NewPermanent(&badRequest{fmt.Errorf(format, args...)})
}

// GRPCStatus is what the OTLP receiver looks for.
func (e *badRequest) GRPCStatus() *status.Status {
	return status.New(codes.InvalidArgument, e.Error())
}

func (e *badRequest) Unwrap() error { return e.error }
