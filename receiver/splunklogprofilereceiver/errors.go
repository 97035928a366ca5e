// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofilereceiver

import (
	"fmt"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// invalidRequest is an error that the OTLP receiver answers with InvalidArgument, or 400. Any other permanent error is
// the fault of this side to it.
type invalidRequest struct{ error }

// invalid returns a permanent error about a request that will fail again. format and args are those of fmt.Errorf.
func invalid(format string, args ...any) error {
	return consumererror.NewPermanent(&invalidRequest{fmt.Errorf(format, args...)})
}

// GRPCStatus is what the OTLP receiver looks for.
func (e *invalidRequest) GRPCStatus() *status.Status {
	return status.New(codes.InvalidArgument, e.Error())
}

func (e *invalidRequest) Unwrap() error { return e.error }
