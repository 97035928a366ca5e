// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
)

// The memory of messages. The size in protobuf would be a bad estimate: the memory is several times as large, and the ratio depends on
// the content. It also takes longer, since it depends on each number.

// The memory of an entry of a table or list: the pointer to it, and the entry.
const (
	SampleMemory  = PointerSize + SampleSize
	ProfileMemory = PointerSize + ProfileSize

	functionMemory  = PointerSize + FunctionSize
	mappingMemory   = PointerSize + MappingSize
	locationMemory  = PointerSize + LocationSize
	lineMemory      = PointerSize + LineSize
	stackMemory     = PointerSize + StackSize
	attributeMemory = PointerSize + AttributeSize
	linkMemory      = PointerSize + LinkSize
)

// MessageMemory estimates the memory of a message. It is within a third of what a message takes that was unmarshalled, unless many texts
// are references to the dictionary: those count twice.
func MessageMemory(pd pprofile.Profiles) int64 {
	total := MemoryOf(pd.Dictionary())
	for _, resource := range pd.ResourceProfiles().All() {
		total += ResourceMemory(resource.Resource(), resource.SchemaUrl())
		for _, scope := range resource.ScopeProfiles().All() {
			total += ScopeMemory(scope.Scope(), scope.SchemaUrl())
			for _, profile := range scope.Profiles().All() {
				total += profileMemory(profile)
			}
		}
	}
	return int64(total)
}

// ResourceMemory estimates the memory of a resource, and of the URL of its schema, without its scopes.
func ResourceMemory(resource pcommon.Resource, schemaURL string) int {
	total := PointerSize + ResourceProfilesSize + len(schemaURL) + MapMemory(resource.Attributes())
	for _, reference := range entity.ResourceEntityRefs(resource).All() {
		total += PointerSize + EntitySize + len(reference.SchemaUrl()) + len(reference.Type())
		for _, keys := range [...]pcommon.StringSlice{reference.IdKeys(), reference.DescriptionKeys()} {
			for _, key := range keys.All() {
				total += StringSize + len(key)
			}
		}
	}
	return total
}

// ScopeMemory is [ResourceMemory] for a scope, without its profiles.
func ScopeMemory(scope pcommon.InstrumentationScope, schemaURL string) int {
	return PointerSize + ScopeProfilesSize + len(schemaURL) + len(scope.Name()) + len(scope.Version()) + MapMemory(scope.Attributes())
}

func profileMemory(profile pprofile.Profile) int {
	total := ProfileMemory + profile.OriginalPayload().Len() + len(profile.OriginalPayloadFormat()) +
		4*profile.AttributeIndices().Len()
	samples := profile.Samples()
	for i := range samples.Len() {
		sample := samples.At(i)
		total += SampleMemory + 4*sample.AttributeIndices().Len() +
			8*(sample.Values().Len()+sample.TimestampsUnixNano().Len())
	}
	return total
}

// MemoryOf estimates the memory of a dictionary in bytes.
func MemoryOf(d pprofile.ProfilesDictionary) int {
	total := d.FunctionTable().Len()*functionMemory + d.LinkTable().Len()*linkMemory
	strings := d.StringTable()
	for i := range strings.Len() {
		total += StringSize + len(strings.At(i))
	}
	for _, mapping := range d.MappingTable().All() {
		total += mappingMemory + 4*mapping.AttributeIndices().Len()
	}
	for _, location := range d.LocationTable().All() {
		total += locationMemory + 4*location.AttributeIndices().Len() + lineMemory*location.Lines().Len()
	}
	for _, stack := range d.StackTable().All() {
		total += stackMemory + 4*stack.LocationIndices().Len()
	}
	for _, attribute := range d.AttributeTable().All() {
		total += attributeMemory + sizeOfValue(attribute.Value()).memory
	}
	return total
}
