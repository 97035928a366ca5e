// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlpwire computes how much memory the body of an OTLP request will need when pdata unmarshals it.
//
// One pass over the tags adds up the memory that pdata v1.71.0 allocates for each submessage, each list entry and each string.
// It also checks how deep attribute values are nested. The pass allocates nothing and does not recurse.
//
// The result is an upper bound of the live heap at any time: when a list grows, its old array and its new one exist together.
package otlpwire // import "github.com/otelpprof/otelpprof/internal/wire/otlpwire"
