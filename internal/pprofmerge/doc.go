// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pprofmerge adds up pprofs on the wire: what the bytes say goes into one dictionary, where each symbol, stack
// and sample stands once, and is written from there. No tree of objects is made of any of them.
//
// The rules are those of google/pprof's profile.Merge, which tools expect: samples are one when their stack and labels
// are, mappings when size, offset and build ID (else the file) are, whatever address they were loaded at; samples whose
// values are all 0 go, and so does what nothing refers to. The time is the earliest, durations are summed, the largest period counts.
// Other than there, the sum has the sample types of all pprofs, so that no value is lost: a pprof counts 0 for a type that it lacks. The
// type that tools show first stays that of the first pprof.
package pprofmerge // import "github.com/otelpprof/otelpprof/internal/pprofmerge"
