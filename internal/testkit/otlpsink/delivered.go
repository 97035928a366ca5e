// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpsink

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
)

// Delivered returns what a deduplicator with its default options makes of profiles: links without a span become
// attributes.
func Delivered(all ...pprofile.Profiles) []pprofile.Profiles {
	deduplicator := dedup.New(dedup.Options{DropPartialLinks: true})
	delivered := make([]pprofile.Profiles, len(all))
	for i, pd := range all {
		own := pprofile.NewProfiles()
		pd.CopyTo(own)
		delivered[i], _, _ = deduplicator.Deduplicate(own) // it drops what is invalid, and has no error then
	}
	return delivered
}
