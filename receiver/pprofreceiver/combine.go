// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// combine merges messages into one, with one dictionary. Consecutive messages with the same resource share it. Each
// payload keeps its scope and its samples.
func combine(messages []pprofile.Profiles, allMappings bool) (pprofile.Profiles, error) {
	if len(messages) == 1 {
		return messages[0], nil
	}
	return rebuild(messages, allMappings)
}

// rebuild merges messages into one, with a dictionary that has only entries that the messages use. With allMappings it
// also has all mappings.
func rebuild(messages []pprofile.Profiles, allMappings bool) (pprofile.Profiles, error) {
	whole := pprofile.NewProfiles()
	builder := dictionary.New()
	importer := &dictionary.Importer{}
	for _, message := range messages {
		importer.Reset(builder, message.Dictionary())
		if err := importMappings(importer, message, allMappings); err != nil {
			return pprofile.Profiles{}, err
		}
		for profile := range walk.Profiles(message) {
			if err := importer.RewriteProfile(profile); err != nil {
				return pprofile.Profiles{}, err
			}
		}
		for _, resource := range message.ResourceProfiles().All() {
			resource.ScopeProfiles().MoveAndAppendTo(resourceFor(whole, resource).ScopeProfiles())
		}
	}
	builder.WriteTo(whole.Dictionary())
	return whole, nil
}

// resourceFor returns the last resource of a message if its attributes are equal, or else a new one.
func resourceFor(whole pprofile.Profiles, resource pprofile.ResourceProfiles) pprofile.ResourceProfiles {
	all := whole.ResourceProfiles()
	if n := all.Len(); n > 0 && dictionary.EqualMaps(all.At(n-1).Resource().Attributes(), resource.Resource().Attributes()) {
		return all.At(n - 1)
	}
	added := all.AppendEmpty()
	resource.Resource().MoveTo(added.Resource())
	added.SetSchemaUrl(resource.SchemaUrl())
	return added
}

// importMappings imports the mappings that samples refer to before everything else, so that they keep their order: by
// convention, the first one is the main binary.
func importMappings(importer *dictionary.Importer, message pprofile.Profiles, all bool) error {
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

// markMappings marks the mappings that samples refer to. The message comes from the translator, so its indices are valid.
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
