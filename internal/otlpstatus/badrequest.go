// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpstatus

import (
	"fmt"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// badRequest is an error that the request causes. The Collector's OTLP receiver takes any other permanent error for a server error, which it
// answers with Internal, or 500.
type badRequest struct{ error }

// BadRequest returns a permanent error about a request that will fail again: the OTLP receiver answers it with InvalidArgument, or
// 400, and so does the receiver pprof. format and args are those of [fmt.Errorf].
func BadRequest(format string, args ...any) error {
	return consumererror.NewPermanent(&badRequest{fmt.Errorf(format, args...)})
}

// GRPCStatus is what the OTLP receiver looks for.
func (e *badRequest) GRPCStatus() *status.Status {
	return status.New(codes.InvalidArgument, e.Error())
}

func (e *badRequest) Unwrap() error { return e.error }
