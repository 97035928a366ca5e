// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package profilededuplicator makes profiles small, canonical and conformant: each symbol once, equal samples combined.
//
// What becomes of one message is the work of internal/dedup. This package is what surrounds it: the configuration, the
// filter of profiles that were delivered before, the batches that share one dictionary, and what is counted.
package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"
