// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/walk"
)

// combine makes one message of several, with one dictionary. Neighbours of one resource share it; the scope of each
// payload stays its own, and its samples stay as they are.
func combine(messages []pprofile.Profiles, allMappings bool) (pprofile.Profiles, error) {
	if len(messages) == 1 {
		return messages[0], nil
	}
	return rebuild(messages, allMappings)
}

// rebuild makes one message of some, with a dictionary that holds what they refer to and nothing else, but for mappings
// if all of them are wanted.
func rebuild(messages []pprofile.Profiles, allMappings bool) (pprofile.Profiles, error) {
	whole := pprofile.NewProfiles()
	builder := dictionary.New()
	importer := &dictionary.Importer{}
	for _, message := range messages {
		importer.Reset(builder, message.Dictionary())
		if err := carryMappings(importer, message, allMappings); err != nil {
			return pprofile.Profiles{}, err
		}
		for profile := range walk.Profiles(message) {
			if err := importer.RewriteProfile(profile); err != nil {
				return pprofile.Profiles{}, err
			}
		}
		for _, resource := range message.ResourceProfiles().All() {
			resource.ScopeProfiles().MoveAndAppendTo(place(whole, resource).ScopeProfiles())
		}
	}
	builder.WriteTo(whole.Dictionary())
	return whole, nil
}

// place returns the last resource of a message if it is the same, else a new one.
func place(whole pprofile.Profiles, resource pprofile.ResourceProfiles) pprofile.ResourceProfiles {
	all := whole.ResourceProfiles()
	if n := all.Len(); n > 0 && dictionary.EqualMaps(all.At(n-1).Resource().Attributes(), resource.Resource().Attributes()) {
		return all.At(n - 1)
	}
	added := all.AppendEmpty()
	resource.Resource().MoveTo(added.Resource())
	added.SetSchemaUrl(resource.SchemaUrl())
	return added
}

// carryMappings carries over the mappings that samples reach before anything else, so that they keep their order: the
// first one is the program by convention.
func carryMappings(importer *dictionary.Importer, message pprofile.Profiles, all bool) error {
	wanted := make([]bool, message.Dictionary().MappingTable().Len())
	if !all {
		markMappings(message, wanted)
	}
	for i := range wanted {
		if all || wanted[i] {
			if _, err := importer.Mapping(int32(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// markMappings marks the mappings that samples reach. The message comes from the translator: its indices exist.
func markMappings(message pprofile.Profiles, reached []bool) {
	d := message.Dictionary()
	seen := make([]bool, d.StackTable().Len())
	for profile := range walk.Profiles(message) {
		for _, sample := range profile.Samples().All() {
			stack := int(sample.StackIndex())
			if seen[stack] {
				continue
			}
			seen[stack] = true
			for _, location := range d.StackTable().At(stack).LocationIndices().All() {
				reached[d.LocationTable().At(int(location)).MappingIndex()] = true
			}
		}
	}
}
