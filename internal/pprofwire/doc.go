// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pprofwire reads and writes profile.proto, the pprof format, on the wire.
//
// [Profile.Read] walks the bytes once and fills flat tables: no object per sample, no pointers, ids and string indices
// as they stand. The tables borrow the bytes and are reused from one call to the next. The Append functions write a
// profile to the end of a slice.
//
// The reader takes repeated numbers packed, unpacked or mixed, skips unknown fields, and is strict about everything
// that has a bound: a length that runs past its message, a varint of more than 64 bits, a string index that does not
// exist, and the limits of the caller are errors. So are fields of number 0 and tags in more bytes than they need, which
// no producer writes.
package pprofwire // import "github.com/otelpprof/otelpprof/internal/pprofwire"
