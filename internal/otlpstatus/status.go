// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlpstatus is about refused requests of OTLP: the errors that they cause, and the answers over HTTP.
package otlpstatus // import "github.com/otelpprof/otelpprof/internal/otlpstatus"

import (
	"net/http"

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
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(code)
	// If this fails, the client has disconnected.
	_, _ = w.Write(body(mediaType, s)) // #nosec G705 -- The media type is protobuf or JSON.
}

func body(mediaType string, s *status.Status) []byte {
	marshal := proto.Marshal
	if mediaType == JSONType {
		marshal = protojson.Marshal
	}
	text, err := marshal(s.Proto())
	if err != nil {
		return nil
	}
	return text
}
