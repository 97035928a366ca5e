// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package reader reads recordings of JDK Flight Recorder.
//
// [Read] finds the classes and the constants of all chunks. It keeps no content, only the position of each constant, so its memory is
// a small multiple of their number. [Chunk.Events] then reads the events. A recording can name any class, number and position: each is
// checked before it is used, each loop ends with the bytes of the chunk, and nothing is allocated for a number alone.
package reader // import "github.com/otelpprof/otelpprof/translator/jfr/internal/reader"
