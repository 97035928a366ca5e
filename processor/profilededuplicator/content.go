// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// content is the size of a message.
type content struct {
	profiles, samples int
	// entries has the length of each table, in the order of [dictionary.TableNames].
	entries dictionary.Lengths
	// bytes is the size in protobuf.
	bytes int
}

// contentOf returns the size of a message.
func contentOf(pd pprofile.Profiles) content {
	return content{
		profiles: pd.ProfileCount(),
		samples:  pd.SampleCount(),
		entries:  dictionary.LengthsOf(pd.Dictionary()),
		bytes:    (&pprofile.ProtoMarshaler{}).ProfilesSize(pd),
	}
}

// eventsMemory estimates the memory of the samples that sample_shape: per_event adds to a message: each event becomes one.
func (d *deduplicator) eventsMemory(pd pprofile.Profiles) int64 {
	if !d.perEvent {
		return 0
	}
	total := 0
	for profile := range walk.Profiles(pd) {
		samples := profile.Samples()
		for i := range samples.Len() {
			if sample := samples.At(i); sample.TimestampsUnixNano().Len() > 1 {
				total += sample.TimestampsUnixNano().Len() * (dictionary.SampleMemory + 16 + 4*sample.AttributeIndices().Len())
			}
		}
	}
	return int64(total)
}
