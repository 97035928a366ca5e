// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package delta computes differences of cumulative profiles.
//
// Go's allocs, mutex and block profiles count from the start of a program. What happened between two of them is their
// difference, sample by sample. A sample is identified by its content, not by indices, which change from one profile to the
// next.
package delta
