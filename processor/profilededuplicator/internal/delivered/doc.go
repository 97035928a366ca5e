// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package delivered remembers which profiles were delivered, to recognize repeated ones.
//
// An id has one of four states:
//   - unknown;
//   - in flight, while a [Claim] has it and is not settled;
//   - held, if the sender of that claim got a successful answer before the claim is settled;
//   - delivered, after the claim was settled, until the id expires or is evicted.
//
// If a profile comes whose id is in flight, [IDs.Claim] waits up to a second until the other claim is settled. If the first
// copy is delivered, the second is dropped. If not, the second is processed, so that none is lost. A profile whose id is
// held is a repeated one, since its first sender got a successful answer.
package delivered // import "github.com/otelpprof/otelpprof/processor/profilededuplicator/internal/delivered"
