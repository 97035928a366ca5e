// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pprof translates pprof payloads to OTLP profiles and back without losing anything that a sample reaches.
//
// [Decoder] reads profile.proto bytes (plain, gzip or zstd) into pprofile.Profiles; [Encoder] writes pprofile.Profiles
// as profile.proto bytes. Neither builds an object graph of the pprof; cost grows in proportion to the input. Both are
// safe for concurrent use and keep their working memory in pools of their own.
package pprof // import "github.com/otelpprof/otelpprof/translator/pprof"
