// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpreferences

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/walk"
)

const (
	// maxAttributes and maxDepth limit the maps that are rebuilt: pdata compares each key with all keys before it.
	maxAttributes = 1000
	maxDepth      = 32
)

// removeRedundant removes the references of attributes that have a key as well. pdata v0.159 sends both, pdata from v0.163 on
// refuses both, and a reference would be wrong after the dictionary has been rewritten. removeRedundant copies a read-only
// message.
func removeRedundant(pd pprofile.Profiles) (out pprofile.Profiles, removed bool) {
	if pd.IsReadOnly() {
		out = pprofile.NewProfiles()
		pd.CopyTo(out)
		pd = out
	}
	for attributes := range walk.Attributes(pd) {
		removed = removeFrom(attributes) || removed
	}
	return pd, removed
}

// removeFrom rebuilds a map and reports whether it has become smaller. The API of pdata does not show the references, so only
// the size tells whether there were any.
func removeFrom(attributes pcommon.Map) bool {
	measured := pprofile.NewResourceProfiles()
	moved := measured.Resource().Attributes()
	attributes.MoveTo(moved)
	before := (&pprofile.ProtoMarshaler{}).ResourceProfilesSize(measured)
	rebuild(moved, 0)
	after := (&pprofile.ProtoMarshaler{}).ResourceProfilesSize(measured)
	moved.MoveTo(attributes)
	return before != after
}

// rebuild moves the values of a map to new keys without references, in the same order. It does not change a map in which a key
// appears twice, since pdata cannot build such a map.
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
