// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package profilededuplicator makes profiles smaller: each symbol occurs once in a message, and equal samples are combined.
//
// internal/dedup deduplicates one message. This package is the component around it: the configuration, the filter for
// repeated profiles, the batches, which share one dictionary, and the metrics.
package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"
