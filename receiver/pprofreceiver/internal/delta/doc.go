// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package delta makes differences of cumulative profiles.
//
// Go's allocs, mutex and block profiles count from the start of a program. What happened between two of them is their
// difference, sample by sample; a sample is known by what it says, not by indices, which change from one profile to the
// next.
package delta
