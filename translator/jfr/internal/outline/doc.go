// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package outline walks over a JFR recording before the parser does.
//
// The parser of github.com/grafana/jfr-parser is for recordings that its caller trusts. It allocates tables for the numbers
// of entries that the recording declares, follows positions in the recording without looking where they lead, and reads
// events without looking where they end: a recording of 81 bytes makes it allocate 64 GiB, another run forever. The runtime
// cannot recover from the first.
//
// So [Read] follows the same structures first: chunk headers, metadata, constant pools and events. It allocates nothing that
// depends on a number before it knows that the recording has the bytes for it, and it tells what the parser will allocate.
// It also notes what the parser leaves out: the types of frames, and the settings of the recording.
package outline // import "github.com/otelpprof/otelpprof/translator/jfr/internal/outline"
