// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pprofmerge merges encoded pprofs into one dictionary, which holds each symbol, stack and sample once, and encodes the sum. It
// never builds a profile.Profile.
//
// The rules are those of google/pprof's profile.Merge, which tools expect. Samples are equal if their stacks and labels are. Mappings
// are equal if their size, offset and build ID (else the file) are, at whatever address they were loaded. Samples with only zero
// values are dropped, as are unused entries. The time is the earliest, durations are summed, the largest period counts. In two
// things the sum differs. It has the sample types of all pprofs, so that no value is lost; a pprof counts 0 for a type that it does not
// have. And the type that tools show first stays that of the first pprof, also if that has no default and a later one has.
package pprofmerge // import "github.com/otelpprof/otelpprof/internal/pprofmerge"
