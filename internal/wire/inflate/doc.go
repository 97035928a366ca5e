// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package inflate decompresses gzip and zstd payloads up to a limit. Compression may be nested.
//
// The limit applies to each layer, and is checked before the memory is allocated. The sizes in the headers and trailers of a
// payload are only hints. A payload with an unusually high compression ratio is decompressed twice: first into a small
// buffer, to count its bytes. Readers are pooled: if the destination is large enough, a call allocates nothing.
package inflate // import "github.com/otelpprof/otelpprof/internal/wire/inflate"
