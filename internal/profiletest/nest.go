// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import "go.opentelemetry.io/collector/pdata/pcommon"

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
