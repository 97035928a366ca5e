// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlpstatus is about refused requests of OTLP: the errors that they cause, and the answers over HTTP.
package otlpstatus // import "github.com/otelpprof/otelpprof/internal/otlpstatus"

import (
	"fmt"
	"net/http"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// The media types of OTLP over HTTP.
const (
	ProtoType = "application/x-protobuf"
	JSONType  = "application/json"
)

// Write answers as the OTLP specification requires: with a google.rpc.Status in the media type of the request.
func Write(w http.ResponseWriter, mediaType string, code int, s *status.Status) {
	marshal := proto.Marshal
	if mediaType == JSONType {
		marshal = protojson.Marshal
	}
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(code)
	if text, err := marshal(s.Proto()); err == nil {
		_, _ = w.Write(text) // #nosec G705 -- The media type is protobuf or JSON. If this fails, the client has disconnected.
	}
}

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
