// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/walk"
)

// The memory of pdata's structs on a 64-bit system: the pointer in their table, and the size class of the struct.
const (
	pointerBytes = 8

	functionBytes  = pointerBytes + 24
	mappingBytes   = pointerBytes + 64
	locationBytes  = pointerBytes + 64
	lineBytes      = pointerBytes + 24
	stackBytes     = pointerBytes + 24
	attributeBytes = pointerBytes + 32
	linkBytes      = pointerBytes + 24
	sampleBytes    = pointerBytes + 96
	profileBytes   = pointerBytes + 160
	// containerBytes is for a resource or a scope, with its list.
	containerBytes = pointerBytes + 128
	stringBytes    = 16
	// groupBytes and groupKeyBytes are for a group of samples, with its places in lists, and for each attribute that it is grouped by.
	groupBytes    = 256
	groupKeyBytes = 128
	// keyValueBytes and valueBytes are for an element of a list of attributes or values, with its allocations.
	keyValueBytes = 40 + 16
	valueBytes    = 16 + 16
)

// memoryOf estimates the memory of a message. The size in protobuf would be a bad estimate: the memory is several times as
// large, and the ratio depends on the content.
func memoryOf(pd pprofile.Profiles) int64 {
	total := dictionaryMemory(pd.Dictionary())
	for _, resource := range pd.ResourceProfiles().All() {
		total += containerBytes + len(resource.SchemaUrl()) + mapMemory(resource.Resource().Attributes())
		for _, scope := range resource.ScopeProfiles().All() {
			total += containerBytes + len(scope.SchemaUrl()) + mapMemory(scope.Scope().Attributes())
			total += len(scope.Scope().Name()) + len(scope.Scope().Version())
			for _, profile := range scope.Profiles().All() {
				total += profileMemory(profile)
			}
		}
	}
	return int64(total)
}

func dictionaryMemory(d pprofile.ProfilesDictionary) int {
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
	total := profileBytes + profile.OriginalPayload().Len() + len(profile.OriginalPayloadFormat()) +
		4*profile.AttributeIndices().Len()
	samples := profile.Samples()
	for i := range samples.Len() {
		sample := samples.At(i)
		total += sampleBytes + 4*sample.AttributeIndices().Len() +
			8*(sample.Values().Len()+sample.TimestampsUnixNano().Len())
	}
	return total
}

// eventsMemory estimates the additional memory of a message when each of its events becomes a sample.
func eventsMemory(pd pprofile.Profiles) int64 {
	total := 0
	for profile := range walk.Profiles(pd) {
		samples := profile.Samples()
		for i := range samples.Len() {
			if sample := samples.At(i); sample.TimestampsUnixNano().Len() > 1 {
				total += sample.TimestampsUnixNano().Len() * (sampleBytes + 16 + 4*sample.AttributeIndices().Len())
			}
		}
	}
	return int64(total)
}

func mapMemory(attributes pcommon.Map) int {
	total := 0
	for key, value := range attributes.All() {
		total += keyValueBytes + len(key) + valueMemory(value)
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
				total += keyValueBytes + len(key)
				waiting = add(waiting, item)
			}
			continue
		}
		for _, item := range last.Slice().All() {
			total += valueBytes
			waiting = add(waiting, item)
		}
	}
	return total
}
