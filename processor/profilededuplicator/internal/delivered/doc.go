// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package delivered remembers which profiles were delivered, to recognize those that are sent again.
//
// An id has four states. It is unknown; in flight, while the one [Claim] that has it is not settled; held, if that claim
// was acknowledged meanwhile; or delivered, until it expires or is evicted. Only a claim that is settled makes an id
// delivered. A profile whose id is in flight waits shortly for the claim to be settled: of two copies at the same time none
// is lost, and if the first is delivered, the second is dropped. A profile whose id is held is a repeated one: its first
// sender has been told of success.
package delivered // import "github.com/otelpprof/otelpprof/processor/profilededuplicator/internal/delivered"
