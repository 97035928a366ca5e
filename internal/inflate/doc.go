// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package inflate decompresses gzip and zstd payloads, also nested ones, up to a limit.
//
// The limit is for every layer, and is checked before the memory is allocated. The sizes that a payload contains are only
// hints. A payload that would grow far beyond its own size is first decompressed into a small buffer, only to count its
// bytes. Readers are pooled: with a large enough destination a call allocates nothing.
package inflate // import "github.com/otelpprof/otelpprof/internal/inflate"
