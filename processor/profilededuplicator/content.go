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
	// bytes is the size in protobuf. It is 0 if it was not measured, see [deduplicator.measure].
	bytes int
}

// contentOf returns the size of a message, measured.
func contentOf(pd pprofile.Profiles) content {
	c := countsOf(pd)
	c.bytes = tablesBytes(pd) + resourcesBytes(pd)
	return c
}

// countsOf returns the size of a message without its bytes.
func countsOf(pd pprofile.Profiles) content {
	return content{
		profiles: pd.ProfileCount(),
		samples:  pd.SampleCount(),
		entries:  dictionary.LengthsOf(pd.Dictionary()),
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

const (
	// tablesRatio: no entry of a table has more than tablesRatio times as many bytes in protobuf as package size counts for its
	// memory. The largest ratio is that of a negative index: 10 bytes and 4.
	tablesRatio = 3
	// tablesField is the tag and the length of the dictionary.
	tablesField = 11
)

// exceeds reports whether a message has more bytes in protobuf than a limit. For most messages, it need not measure the tables.
func exceeds(pd pprofile.Profiles, limit int) bool {
	limit -= resourcesBytes(pd)
	most := tablesField + tablesRatio*int64(dictionary.MemoryOf(pd.Dictionary()))
	return most > int64(limit) && tablesBytes(pd) > limit
}

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
				total += sample.TimestampsUnixNano().Len() * (dictionary.SampleMemory + 16 + 4*sample.AttributeIndices().Len())
			}
		}
	}
	return int64(total)
}
