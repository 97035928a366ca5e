// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package size estimates the memory of messages. The size in protobuf would be a bad estimate: the memory is several
// times as large, and the ratio depends on the content. It also takes longer, since it depends on each number.
package size // import "github.com/otelpprof/otelpprof/internal/memory/size"

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/dictionary/entities"
)

// The memory of pdata's structs on a 64-bit system: the pointer in their table, and the size class of the struct.
const (
	PointerBytes = 8

	SampleBytes  = PointerBytes + 96
	ProfileBytes = PointerBytes + 160
	// containerBytes is for a resource or a scope, with its list.
	containerBytes = PointerBytes + 128
)

// Of estimates the memory of a message. It is within a third of what a message takes that was unmarshalled, unless many texts are
// references to the dictionary: those count twice.
func Of(pd pprofile.Profiles) int64 {
	total := dictionary.MemoryOf(pd.Dictionary())
	for _, resource := range pd.ResourceProfiles().All() {
		total += OfResource(resource)
		for _, scope := range resource.ScopeProfiles().All() {
			total += OfScope(scope)
			for _, profile := range scope.Profiles().All() {
				total += profileMemory(profile)
			}
		}
	}
	return int64(total)
}

// OfResource estimates the memory of a resource without its scopes.
func OfResource(resource pprofile.ResourceProfiles) int {
	return containerBytes + len(resource.SchemaUrl()) + attributevalue.MapMemory(resource.Resource().Attributes()) +
		entities.Memory(resource.Resource())
}

// OfScope estimates the memory of a scope without its profiles.
func OfScope(scope pprofile.ScopeProfiles) int {
	return containerBytes + len(scope.SchemaUrl()) + len(scope.Scope().Name()) + len(scope.Scope().Version()) +
		attributevalue.MapMemory(scope.Scope().Attributes())
}

func profileMemory(profile pprofile.Profile) int {
	total := ProfileBytes + profile.OriginalPayload().Len() + len(profile.OriginalPayloadFormat()) +
		4*profile.AttributeIndices().Len()
	samples := profile.Samples()
	for i := range samples.Len() {
		sample := samples.At(i)
		total += SampleBytes + 4*sample.AttributeIndices().Len() +
			8*(sample.Values().Len()+sample.TimestampsUnixNano().Len())
	}
	return total
}
