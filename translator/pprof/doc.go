// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pprof translates pprof payloads to OTLP profiles and back, without loss of anything that samples refer to.
//
// [Decoder] decodes profile.proto (plain, gzip or zstd) to pprofile.Profiles. [Encoder] encodes pprofile.Profiles as
// profile.proto. Neither builds an object graph of the pprof. Time and memory are proportional to the input. Both are
// safe for concurrent use and pool their working memory.
package pprof // import "github.com/otelpprof/otelpprof/translator/pprof"
