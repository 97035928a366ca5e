// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// SplitLimits limit the parts of a message. 0 means no limit.
type SplitLimits struct {
	// MaxSamples is the maximum number of samples of a part. MaxBytes is its maximum size in bytes of protobuf.
	MaxSamples, MaxBytes int
}

// Allow reports whether a message with these numbers of samples and bytes is within the limits.
func (l SplitLimits) Allow(samples, bytes int) bool {
	return (l.MaxSamples <= 0 || samples <= l.MaxSamples) && (l.MaxBytes <= 0 || bytes <= l.MaxBytes)
}

// Part is a message with a part of a larger message.
type Part struct {
	Profiles pprofile.Profiles
	// First and Last are the first and the last profile of which the part has samples, counted from 0 through the larger message.
	First, Last int
}

// Split divides pd into parts within the limits, and calls take with each of them. A part has only the dictionary entries that it
// needs. Split makes a part after take has returned from the one before, and take owns the part. pd must come from Deduplicate. If pd
// fits, it is the only part. Otherwise Split moves its content, and the caller must not use pd any more.
//
// If the profiles of a capture do not fit into the current part, the next part begins with them. So they stay together if they fit into
// a part, and a pprof of them has all sample types. So does a profile stay whole. If the samples of a profile are in several parts, the
// first of them has the original payload, and each gets an id derived from that of the profile and from the samples that it has.
//
// A part exceeds MaxBytes if a single sample needs more, see [CheckSplit]. Parts may also exceed both limits if all parts together
// have repeated six times the size of the message: then at least a third of each further part is new. The parts together have at
// most eight times the size of the message, and 4 KiB for each part. The time is linear in that size.
func Split(pd pprofile.Profiles, limits SplitLimits, take func(Part)) {
	if fits(pd, limits) {
		take(Part{Profiles: pd, Last: max(pd.ProfileCount()-1, 0)})
		return
	}
	s := newSplitter(pd, limits)
	s.take = take
	_ = s.run()
}

// TooLargeError is the error of a sample that does not fit into any part.
type TooLargeError struct {
	// Profile is counted from 0 through the message, Sample through the profile.
	Profile, Sample int
	// Bytes is the size of a message with only this sample, Limit the maximum.
	Bytes, Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("sample %d of profile %d needs a message of %d bytes, at most %d are allowed", e.Sample, e.Profile, e.Bytes, e.Limit)
}

// CheckSplit returns a *[TooLargeError] if Split would make a part above maxBytes because of one sample. It does not change pd, which
// need not be canonical.
func CheckSplit(pd pprofile.Profiles, maxBytes int) error {
	limits := SplitLimits{MaxBytes: maxBytes}
	if fits(pd, limits) {
		return nil
	}
	return newSplitter(pd, limits).run()
}

// fits reports whether a message is within the limits without a split.
func fits(pd pprofile.Profiles, limits SplitLimits) bool {
	return limits.Allow(pd.SampleCount(), 0) &&
		(limits.MaxBytes <= 0 || limits.Allow(0, (&pprofile.ProtoMarshaler{}).ProfilesSize(pd)))
}
