// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package dedup makes profiles messages small, canonical and conformant: each dictionary entry once and in use, zero
// entries in place, equal resources and scopes joined, samples of equal identity combined.
//
// Two samples are equal when stack, set of attributes, and link are, by value; they are combined only when they have
// the same shape: values, timestamps, or both. Two messages become one by [Concat] and one [Deduplicator.Deduplicate];
// [Split] splits a large one, and limits what it repeats.
//
// All work is in place: what is canonical already is read only. The cost is linear in the size of the message.
package dedup // import "github.com/otelpprof/otelpprof/internal/dedup"
