// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package messagememory estimates the memory of messages. The size in protobuf would be a bad estimate: the memory is several
// times as large, and the ratio depends on the content. It also takes longer, since it depends on each number.
package messagememory // import "github.com/otelpprof/otelpprof/internal/messagememory"

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
)

// The memory of pdata's structs on a 64-bit system: the pointer in their table, and the size class of the struct.
const (
	PointerBytes = 8

	functionBytes  = PointerBytes + 24
	mappingBytes   = PointerBytes + 64
	locationBytes  = PointerBytes + 64
	lineBytes      = PointerBytes + 24
	stackBytes     = PointerBytes + 24
	attributeBytes = PointerBytes + 32
	linkBytes      = PointerBytes + 24
	SampleBytes    = PointerBytes + 96
	ProfileBytes   = PointerBytes + 160
	// ContainerBytes is for a resource or a scope, with its list.
	ContainerBytes = PointerBytes + 128
	stringBytes    = 16
	entityBytes    = PointerBytes + 80
	// KeyValueBytes and ValueBytes are for an element of a list of attributes or values, with its allocations.
	KeyValueBytes = 40 + 16
	ValueBytes    = 16 + 16
)

// AtMost is an estimate that the memory of a message does not exceed. Lists that have grown can have unused capacity, so it adds half.
func AtMost(pd pprofile.Profiles) int64 { return Of(pd) * 3 / 2 }

// Of estimates the memory of a message. It is within a third of what a message takes that was unmarshalled, unless many texts are
// references to the dictionary: those count twice.
func Of(pd pprofile.Profiles) int64 {
	total := OfDictionary(pd.Dictionary())
	for _, resource := range pd.ResourceProfiles().All() {
		total += ContainerBytes + len(resource.SchemaUrl()) + OfMap(resource.Resource().Attributes())
		total += entitiesMemory(entity.ResourceEntityRefs(resource.Resource()))
		for _, scope := range resource.ScopeProfiles().All() {
			total += ContainerBytes + len(scope.SchemaUrl()) + OfMap(scope.Scope().Attributes())
			total += len(scope.Scope().Name()) + len(scope.Scope().Version())
			for _, profile := range scope.Profiles().All() {
				total += profileMemory(profile)
			}
		}
	}
	return int64(total)
}

// OfDictionary estimates the memory of a dictionary.
func OfDictionary(d pprofile.ProfilesDictionary) int {
	total := d.FunctionTable().Len()*functionBytes + d.LinkTable().Len()*linkBytes
	strings := d.StringTable()
	for i := range strings.Len() {
		total += stringBytes + len(strings.At(i))
	}
	for _, mapping := range d.MappingTable().All() {
		total += mappingBytes + 4*mapping.AttributeIndices().Len()
	}
	for _, location := range d.LocationTable().All() {
		total += locationBytes + 4*location.AttributeIndices().Len() + lineBytes*location.Lines().Len()
	}
	for _, stack := range d.StackTable().All() {
		total += stackBytes + 4*stack.LocationIndices().Len()
	}
	for _, attribute := range d.AttributeTable().All() {
		total += attributeBytes + valueMemory(attribute.Value())
	}
	return total
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

func entitiesMemory(entities entity.EntityRefSlice) (total int) {
	for _, e := range entities.All() {
		total += entityBytes + len(e.SchemaUrl()) + len(e.Type())
		for _, keys := range [...]pcommon.StringSlice{e.IdKeys(), e.DescriptionKeys()} {
			for i := range keys.Len() {
				total += stringBytes + len(keys.At(i))
			}
		}
	}
	return total
}

// OfMap estimates the memory of attributes.
func OfMap(attributes pcommon.Map) int {
	total := 0
	for key, value := range attributes.All() {
		total += KeyValueBytes + len(key) + valueMemory(value)
	}
	return total
}

// valueMemory returns the memory of a value in addition to its element in a list. It is not recursive, since a deeply nested
// value would overflow the stack.
func valueMemory(value pcommon.Value) int {
	switch value.Type() {
	case pcommon.ValueTypeStr:
		return stringBytes + len(value.Str())
	case pcommon.ValueTypeBytes:
		return 24 + value.Bytes().Len()
	case pcommon.ValueTypeMap, pcommon.ValueTypeSlice:
		return nestedMemory(value)
	default:
		return 8
	}
}

// nestedMemory is valueMemory for a list or map. It keeps the nested lists and maps that it still has to visit in a slice.
func nestedMemory(value pcommon.Value) int {
	total := 0
	add := func(waiting []pcommon.Value, item pcommon.Value) []pcommon.Value {
		if t := item.Type(); t == pcommon.ValueTypeMap || t == pcommon.ValueTypeSlice {
			return append(waiting, item)
		}
		total += valueMemory(item)
		return waiting
	}
	for waiting := []pcommon.Value{value}; len(waiting) > 0; {
		last := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		total += 24
		if last.Type() == pcommon.ValueTypeMap {
			for key, item := range last.Map().All() {
				total += KeyValueBytes + len(key)
				waiting = add(waiting, item)
			}
			continue
		}
		for _, item := range last.Slice().All() {
			total += ValueBytes
			waiting = add(waiting, item)
		}
	}
	return total
}
