// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package delivered remembers which profiles were delivered, so that one that comes again can be told.
//
// An id has four states. It is unknown; in flight, while the one [Claim] that has it is not settled; held, if that claim
// was acknowledged meanwhile; or delivered, until it expires or is evicted. Only a claim that is settled makes an id
// delivered. A profile whose id is in flight waits a moment for the claim to be settled, so that of two at once none is
// lost and, if the first arrives, only one arrives. A profile whose id is held is a repeated one: somebody has answered
// for it.
package delivered // import "github.com/otelpprof/otelpprof/processor/profilededuplicator/internal/delivered"
