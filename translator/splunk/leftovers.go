// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// leaveEntries refuses a pprof for memory after it has added entries to the dictionary. They are removed at the end, for all records
// together: otherwise, many refused records after a large one would take its time each.
func (t *decoding) leaveEntries() *refusal {
	t.leftovers = true
	t.forgetFrameTypes()
	return t.memoryRefusal()
}

// forgetFrameTypes makes the next record add its frame types again.
func (t *decoding) forgetFrameTypes() { t.native, t.resource.frameType = 0, 0 }

// removeLeftovers removes the entries that no profile uses from the message.
func (t *decoding) removeLeftovers() {
	var tables dictionary.Compactor
	tables.Reset(t.profiles.Dictionary(), nil)
	sound := true
	for profile := range walk.Profiles(t.profiles) {
		sound = sound && tables.UseHeader(profile) == nil
		for _, sample := range profile.Samples().All() {
			sound = sound && tables.UseSample(sample) == nil
		}
	}
	if !tables.Number() || !sound {
		return // This does not happen: the message has only indices that exist.
	}
	for profile := range walk.Profiles(t.profiles) {
		tables.RewriteHeader(profile)
		for _, sample := range profile.Samples().All() {
			tables.RewriteSample(sample)
		}
	}
	tables.Apply()
}
