// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package walk goes through messages.
package walk

import (
	"iter"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Profiles goes through all profiles of a message, in their order.
func Profiles(message pprofile.Profiles) iter.Seq[pprofile.Profile] {
	return func(yield func(pprofile.Profile) bool) {
		for _, resource := range message.ResourceProfiles().All() {
			for _, scope := range resource.ScopeProfiles().All() {
				for _, profile := range scope.Profiles().All() {
					if !yield(profile) {
						return
					}
				}
			}
		}
	}
}
