// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package memory limits the memory of all requests of the process together.
//
// A [Budget] is a number of bytes. Each request has one [Reservation] in it: it reserves bytes before it allocates them. An
// [Arrival] reads the body of a request into its reservation. A message that outlives its request takes its part of the
// reservation along, until it has been delivered. docs/memory.md has the promises and the mechanism.
package memory // import "github.com/otelpprof/otelpprof/internal/memory"
