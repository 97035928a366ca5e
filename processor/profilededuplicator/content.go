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
func contentOf(pd pprofile.Profiles) content { return contentWith(pd, tablesBytes(pd)) }

// contentWith returns the size of a message whose dictionary has a known size.
func contentWith(pd pprofile.Profiles, tables int) content {
	return content{
		profiles: pd.ProfileCount(),
		samples:  pd.SampleCount(),
		entries:  dictionary.LengthsOf(pd.Dictionary()),
		bytes:    tables + resourcesBytes(pd),
	}
}

// tablesBytes returns the part of the size in protobuf that is the dictionary.
func tablesBytes(pd pprofile.Profiles) int {
	bytes, exact := dictionary.Bytes(pd.Dictionary())
	if !exact {
		return (&pprofile.ProtoMarshaler{}).ProfilesSize(pd) - resourcesBytes(pd)
	}
	return dictionary.FieldBytes(bytes)
}

// resourcesBytes returns the part of the size in protobuf that is not the dictionary.
func resourcesBytes(pd pprofile.Profiles) (bytes int) {
	sizer := pprofile.ProtoMarshaler{}
	for _, resource := range pd.ResourceProfiles().All() {
		bytes += dictionary.FieldBytes(sizer.ResourceProfilesSize(resource))
	}
	return bytes
}

// eventsMemory estimates the additional memory of a message when each of its events becomes a sample.
func eventsMemory(pd pprofile.Profiles) int64 {
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
