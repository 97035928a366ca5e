// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package budget bounds the memory that all requests of the process take together.
//
// A request has one [Reservation] in one [Budget] of bytes. It reserves before it takes memory, for the real cost, and
// releases when the next consumer has answered. A request that waits for its first bytes holds nothing. A request that
// waits for more goes before those, and requests that wait only for each other are not kept waiting.
package budget // import "github.com/otelpprof/otelpprof/internal/budget"
