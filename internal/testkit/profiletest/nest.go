// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"runtime/debug"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Nest makes of v lists and maps in turn, this many within one another, with a text in the innermost, and returns v.
func Nest(v pcommon.Value, levels int) pcommon.Value {
	inner := v
	for i := range levels {
		if i%2 == 0 {
			inner = inner.SetEmptySlice().AppendEmpty()
		} else {
			inner = inner.SetEmptyMap().PutEmpty("k")
		}
	}
	inner.SetStr("innermost")
	return v
}

// DeepPlaces are where an attribute of a message can stand, see [Deepen].
func DeepPlaces() []string {
	return []string{"resource", "scope", "profile", "sample", "location", "mapping"}
}

// Deepen gives the first resource of a message, its first scope or profile, or what the first sample of that refers to, an
// attribute "deep" of that many levels. The dictionary must have its zero entries.
func Deepen(pd pprofile.Profiles, place string, levels int) {
	d := pd.Dictionary()
	resource := pd.ResourceProfiles().At(0)
	profile := resource.ScopeProfiles().At(0).Profiles().At(0)
	var list pcommon.Int32Slice
	switch place {
	case "resource":
		Nest(resource.Resource().Attributes().PutEmpty("deep"), levels)
		return
	case "scope":
		Nest(resource.ScopeProfiles().At(0).Scope().Attributes().PutEmpty("deep"), levels)
		return
	case "profile":
		list = profile.AttributeIndices()
	case "sample":
		list = profile.Samples().At(0).AttributeIndices()
	default:
		location := d.LocationTable().AppendEmpty()
		location.SetAddress(1)
		list = location.AttributeIndices()
		if place == "mapping" {
			location.SetMappingIndex(int32(d.MappingTable().Len()))
			list = d.MappingTable().AppendEmpty().AttributeIndices()
		}
		profile.Samples().At(0).SetStackIndex(int32(d.StackTable().Len()))
		d.StackTable().AppendEmpty().LocationIndices().Append(int32(d.LocationTable().Len() - 1))
	}
	list.Append(int32(d.AttributeTable().Len()))
	attribute := d.AttributeTable().AppendEmpty()
	attribute.SetKeyStrindex(int32(d.StringTable().Len()))
	d.StringTable().Append("deep")
	Nest(attribute.Value(), levels)
}

// LimitStack bounds the stack until the test ends: what exceeds it ends the process, as a value that is deep enough does
// under the limit of Go, of 1 GB.
func LimitStack(tb testing.TB, bytes int) {
	tb.Helper()
	before := debug.SetMaxStack(bytes)
	tb.Cleanup(func() { debug.SetMaxStack(before) })
}
