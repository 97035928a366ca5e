// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package profilededuplicator makes profiles smaller: each symbol occurs once in a message, and equal samples are combined.
//
// The package internal/dedup deduplicates one message. This package is the component that uses it. It has the configuration,
// the filter for repeated profiles, the batches, and the metrics.
package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"
