// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package dedup makes profiles messages small, canonical and conformant. Each dictionary entry occurs once and is used,
// zero entries exist, equal resources and scopes are joined, and samples of equal identity are combined.
//
// Two samples have equal identity if their stacks, sets of attributes, and links are equal by value. They are combined
// only if they have the same shape: values, timestamps, or both. [Join] and [Deduplicator.Deduplicate] combine messages.
// [Split] splits a large message, and limits how much the parts repeat.
//
// The work is in place, and does not change what is canonical. The time is linear in the size of the message.
package dedup // import "github.com/otelpprof/otelpprof/internal/dedup"
