// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
	"github.com/otelpprof/otelpprof/internal/memory/size"
)

const (
	// groupBytes and groupKeyBytes are for a group of samples, with its places in lists, and for each attribute that it is grouped by.
	groupBytes    = 256
	groupKeyBytes = 128
)

// eventsMemory estimates the additional memory of a message when each of its events becomes a sample.
func eventsMemory(pd pprofile.Profiles) int64 {
	total := 0
	for profile := range walk.Profiles(pd) {
		samples := profile.Samples()
		for i := range samples.Len() {
			if sample := samples.At(i); sample.TimestampsUnixNano().Len() > 1 {
				total += sample.TimestampsUnixNano().Len() * (size.SampleBytes + 16 + 4*sample.AttributeIndices().Len())
			}
		}
	}
	return int64(total)
}
