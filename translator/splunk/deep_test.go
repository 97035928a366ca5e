// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestDeepValues: a record is refused if an attribute of it, its scope or its resource is nested too deep. The other
// records are accepted. A thousandth of this depth would overflow the stack.
func TestDeepValues(t *testing.T) {
	profiletest.LimitStack(t, 1<<20)
	const stack = "\"main\" #1\n\tat f(a.js:1)\n"
	for place, test := range map[string]struct {
		of      func(request) pcommon.Map
		refused int
	}{
		"resource": {func(r request) pcommon.Map { return r.logs.ResourceLogs().At(0).Resource().Attributes() }, 3},
		"scope":    {func(r request) pcommon.Map { return r.scope.Scope().Attributes() }, 3},
		"text":     {func(r request) pcommon.Map { return r.scope.LogRecords().At(0).Attributes() }, 1},
		"pprof":    {func(r request) pcommon.Map { return r.scope.LogRecords().At(1).Attributes() }, 1},
	} {
		t.Run(place, func(t *testing.T) {
			made := func(levels int) request {
				r := newRequest("nodejs")
				r.addText(stack)
				r.addPprof(onePayload().body(t))
				r.addText(stack)
				profiletest.Nest(test.of(r).PutEmpty("deep"), levels)
				other := newRequest("java")
				other.addText(stack)
				other.logs.ResourceLogs().MoveAndAppendTo(r.logs.ResourceLogs())
				return r
			}
			r := made(1_000_000)
			pd, result := NewDecoder(Options{}).Decode(r.logs, received, nil)
			assert.Equal(t, 4, result.Records)
			assert.Equal(t, 4-test.refused, result.PprofRecords+result.TextRecords)
			assert.Positive(t, pd.SampleCount())
			require.Len(t, result.Refused, test.refused)
			for _, refused := range result.Refused {
				assert.Equal(t, ReasonTooDeep, refused.Reason)
				assert.ErrorContains(t, refused.Err, `attribute "deep" is too deep: at least 33 lists or maps within one another, the limit is 32`)
			}
			assert.Equal(t, 4, RemoveProfiling(r.logs))

			_, result = NewDecoder(Options{}).Decode(made(attributevalue.MaxDepth).logs, received, nil)
			assert.Empty(t, result.Refused)
		})
	}
}

// TestDeepBodies: bodies that are lists or maps. No agent sends them.
func TestDeepBodies(t *testing.T) {
	profiletest.LimitStack(t, 1<<20)
	r := newRequest("nodejs")
	profiletest.Nest(r.addText("").Body(), 1_000_000)
	_, result := NewDecoder(Options{}).Decode(r.logs, received, nil)
	require.Len(t, result.Refused, 1)
	assert.Equal(t, ReasonBody, result.Refused[0].Reason)
}
