// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import "go.opentelemetry.io/collector/pdata/pprofile"

// Join concatenates messages in the first of them, see [Concat]. Its tables get their room at once, so that they leave
// no garbage behind as they grow. Without messages the result is empty.
func Join(messages []pprofile.Profiles) pprofile.Profiles {
	if len(messages) == 0 {
		return pprofile.NewProfiles()
	}
	joined := messages[0]
	if joined.IsReadOnly() {
		joined = pprofile.NewProfiles()
		messages[0].CopyTo(joined)
	}
	reserve(joined, messages)
	for _, message := range messages[1:] {
		Concat(joined, message)
	}
	return joined
}

// reserve makes room in a message for the content of all.
func reserve(joined pprofile.Profiles, messages []pprofile.Profiles) {
	var all TableSizes
	resources := 0
	for _, message := range messages {
		d := message.Dictionary()
		all.Strings += d.StringTable().Len()
		all.Functions += d.FunctionTable().Len()
		all.Mappings += d.MappingTable().Len()
		all.Locations += d.LocationTable().Len()
		all.Stacks += d.StackTable().Len()
		all.Attributes += d.AttributeTable().Len()
		all.Links += d.LinkTable().Len()
		resources += message.ResourceProfiles().Len()
	}
	d := joined.Dictionary()
	d.StringTable().EnsureCapacity(all.Strings)
	d.FunctionTable().EnsureCapacity(all.Functions)
	d.MappingTable().EnsureCapacity(all.Mappings)
	d.LocationTable().EnsureCapacity(all.Locations)
	d.StackTable().EnsureCapacity(all.Stacks)
	d.AttributeTable().EnsureCapacity(all.Attributes)
	d.LinkTable().EnsureCapacity(all.Links)
	joined.ResourceProfiles().EnsureCapacity(resources)
}
