// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpreferences

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/walk"
)

const (
	// maxAttributes and maxDepth bound the maps that are rebuilt: pdata looks for each key in all of those before it.
	maxAttributes = 1000
	maxDepth      = 32
)

// dropLeftovers removes references of keys that are there in full as well. pdata v0.159 sends both. The strings
// that such a reference means are gone once the dictionary is rewritten, and pdata from v0.163 on refuses a message with
// both. It returns a copy of a message that others read as well.
func dropLeftovers(pd pprofile.Profiles) (out pprofile.Profiles, dropped bool) {
	if pd.IsReadOnly() {
		out = pprofile.NewProfiles()
		pd.CopyTo(out)
		pd = out
	}
	for attributes := range walk.Attributes(pd) {
		dropped = dropFrom(attributes) || dropped
	}
	return pd, dropped
}

// dropFrom rebuilds a map. pdata does not show the references, but they have a size.
func dropFrom(attributes pcommon.Map) bool {
	measured := pprofile.NewResourceProfiles()
	moved := measured.Resource().Attributes()
	attributes.MoveTo(moved)
	before := (&pprofile.ProtoMarshaler{}).ResourceProfilesSize(measured)
	rebuild(moved, 0)
	after := (&pprofile.ProtoMarshaler{}).ResourceProfilesSize(measured)
	moved.MoveTo(attributes)
	return before != after
}

// rebuild puts the values of a map under new keys, in their order. It leaves a map with a key that appears twice.
func rebuild(attributes pcommon.Map, depth int) {
	if attributes.Len() > maxAttributes || depth > maxDepth {
		return
	}
	fresh := pcommon.NewMap()
	fresh.EnsureCapacity(attributes.Len())
	for key := range attributes.All() {
		if _, repeated := fresh.GetOrPutEmpty(key); repeated {
			return
		}
	}
	for key, value := range attributes.All() {
		rebuildValue(value, depth+1)
		to, _ := fresh.Get(key)
		value.MoveTo(to)
	}
	fresh.MoveTo(attributes)
}

func rebuildValue(value pcommon.Value, depth int) {
	switch value.Type() {
	case pcommon.ValueTypeMap:
		rebuild(value.Map(), depth)
	case pcommon.ValueTypeSlice:
		if depth > maxDepth {
			return
		}
		for _, item := range value.Slice().All() {
			rebuildValue(item, depth+1)
		}
	}
}
