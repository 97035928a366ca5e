// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package attributevalue limits the depth of attribute values and the length of their text, and measures them.
//
// Each level of nesting needs only a few bytes on the wire. So a message of some MiB can have a value with a million levels. A
// function that recurses once per level then overflows the stack, which ends the process. AsString, AsRaw and Equal of pdata
// are such functions. Copying and marshalling recurse as well, but they need less stack per level than unmarshalling. So it is
// safe to copy and marshal a message that was unmarshalled.
package attributevalue // import "github.com/otelpprof/otelpprof/internal/attributevalue"

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// MaxDepth is the largest number of nested lists and maps in a value. A string or number has 0 levels, a list of them has 1.
const MaxDepth = 32

// TooDeepError is the error for an attribute whose value is nested deeper than [MaxDepth].
type TooDeepError struct{ Key string }

func (e *TooDeepError) Error() string {
	return fmt.Sprintf("attribute %.64q is too deep: at least %d lists or maps within one another, the limit is %d",
		e.Key, MaxDepth+1, MaxDepth)
}

// TooDeep reports whether a value is nested deeper than [MaxDepth]. It reads only the levels up to that one.
func TooDeep(v pcommon.Value) bool { return deeper(v, MaxDepth) }

// Check returns a *[TooDeepError] for the first attribute whose value is nested deeper than [MaxDepth].
func Check(attributes pcommon.Map) error {
	for key, value := range attributes.All() {
		if TooDeep(value) {
			return &TooDeepError{Key: key}
		}
	}
	return nil
}

// deeper reports whether a value has more than this many levels.
func deeper(v pcommon.Value, levels int) bool {
	switch v.Type() {
	case pcommon.ValueTypeSlice:
		if levels == 0 {
			return true
		}
		for _, item := range v.Slice().All() {
			if deeper(item, levels-1) {
				return true
			}
		}
	case pcommon.ValueTypeMap:
		if levels == 0 {
			return true
		}
		for _, item := range v.Map().All() {
			if deeper(item, levels-1) {
				return true
			}
		}
	default:
	}
	return false
}
