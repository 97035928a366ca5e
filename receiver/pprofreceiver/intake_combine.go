// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// combine joins messages, with one dictionary that has only entries that they use. With allMappings it also has all
// mappings. Consecutive messages with the same resource share it. Each payload keeps its scope and its samples.
func combine(messages []pprofile.Profiles, allMappings bool) (pprofile.Profiles, error) {
	whole := dedup.Join(messages)
	if len(messages) == 1 {
		return whole, nil
	}
	joinResources(whole.ResourceProfiles())
	return whole, compact(whole, allMappings)
}

// joinResources joins consecutive resources with equal attributes in the first of them.
func joinResources(resources pprofile.ResourceProfilesSlice) {
	var last pprofile.ResourceProfiles
	resources.RemoveIf(func(resource pprofile.ResourceProfiles) bool {
		if last == (pprofile.ResourceProfiles{}) ||
			!dictionary.EqualMaps(last.Resource().Attributes(), resource.Resource().Attributes()) {
			last = resource
			return false
		}
		resource.ScopeProfiles().MoveAndAppendTo(last.ScopeProfiles())
		return true
	})
}

// compact removes repeated and unused entries from the dictionary of a message.
func compact(message pprofile.Profiles, allMappings bool) error {
	if allMappings {
		return dictionary.Compact(message, dictionary.Mappings)
	}
	return dictionary.Compact(message)
}
