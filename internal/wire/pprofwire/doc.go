// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pprofwire reads and writes profile.proto, the pprof format, on the wire.
//
// [Profile.Read] reads the bytes once and fills flat tables. There is no object per sample and there are no pointers; ids and
// string indices stay unresolved. The tables refer to the bytes, and their memory is reused by the next call. The Append
// functions append messages to a slice.
//
// The reader accepts repeated numbers packed, unpacked or mixed, and skips unknown fields. These are errors: a length beyond
// the end of its message, a varint of more than 64 bits, a string index that does not exist, and an exceeded limit. Fields
// with number 0 and tags that are longer than necessary are errors as well; no known producer writes them.
package pprofwire // import "github.com/otelpprof/otelpprof/internal/wire/pprofwire"
