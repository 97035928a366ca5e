// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// shape is which of its lists a sample fills.
type shape uint8

const (
	hasValues shape = 1 << iota
	hasTimestamps
)

func (s shape) String() string {
	switch s {
	case hasValues:
		return "values"
	case hasTimestamps:
		return "timestamps"
	case hasValues | hasTimestamps:
		return "values with timestamps"
	}
	return "nothing"
}

func shapeOf(s pprofile.Sample) shape {
	var found shape
	if s.Values().Len() > 0 {
		found |= hasValues
	}
	if s.TimestampsUnixNano().Len() > 0 {
		found |= hasTimestamps
	}
	return found
}

// sampleIdentity is the content that tells samples of one profile apart: stack, attributes and link, and, where asked
// for, the shape.
func sampleIdentity(t *tables, s pprofile.Sample, withShape bool) string {
	identity := appendNumbers(nil, ref(t.stacks, s.StackIndex()), ref(t.links, s.LinkIndex()))
	if withShape {
		identity = append(identity, byte(shapeOf(s)))
	}
	return string(appendNumbers(identity, attributeSet(t, s.AttributeIndices())...))
}

func resourceIdentity(rp pprofile.ResourceProfiles) string {
	identity := appendString(nil, rp.SchemaUrl())
	return string(appendMap(identity, rp.Resource().Attributes(), 0))
}

func scopeIdentity(sp pprofile.ScopeProfiles) string {
	identity := appendString(nil, sp.SchemaUrl())
	identity = appendString(identity, sp.Scope().Name())
	identity = appendString(identity, sp.Scope().Version())
	return string(appendMap(identity, sp.Scope().Attributes(), 0))
}
