// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// Compact removes repeated and unused entries from the dictionary of a message in place. Profiles and samples only get new
// indices. keep is the tables whose unused entries stay. If the message is invalid, Compact returns an error and changes
// nothing.
func Compact(pd pprofile.Profiles, keep ...Table) error {
	var tables Compactor
	tables.Reset(pd.Dictionary(), nil)
	for _, t := range keep {
		tables.useAll(t)
	}
	for profile := range walk.Profiles(pd) {
		if err := tables.UseHeader(profile); err != nil {
			return err
		}
		for _, sample := range profile.Samples().All() {
			if err := tables.UseSample(sample); err != nil {
				return err
			}
		}
	}
	if err := tables.Number(); err != nil {
		return err
	}
	if tables.Renumbered() {
		for profile := range walk.Profiles(pd) {
			tables.RewriteHeader(profile)
			for _, sample := range profile.Samples().All() {
				tables.RewriteSample(sample)
			}
		}
	}
	if tables.Changed() {
		tables.Apply()
	}
	return nil
}
