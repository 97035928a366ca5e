// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package inflate turns gzip and zstd payloads, also nested in one another, into their plain form under a hard cap.
//
// The cap holds for every layer, not only for the last one, and is checked before the memory that it bounds is taken:
// sizes that a payload claims of itself are hints, never trusted. A payload that would grow far beyond its own size is
// first counted through a small buffer and refused without ever being held. Readers are pooled; with a large enough
// destination a call takes no memory.
package inflate // import "github.com/otelpprof/otelpprof/internal/inflate"
