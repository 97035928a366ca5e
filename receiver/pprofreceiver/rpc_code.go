// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

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
