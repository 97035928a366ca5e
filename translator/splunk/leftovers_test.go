// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// acceptedAlone translates the records that were not refused, in a request of their own.
func acceptedAlone(t *testing.T, r request, refusals []Refusal) Result {
	t.Helper()
	refused := map[int]bool{}
	for _, refusal := range refusals {
		refused[refusal.Record] = true
	}
	accepted := newRequest("nodejs")
	for i, record := range r.scope.LogRecords().All() {
		if !refused[i] {
			record.CopyTo(accepted.scope.LogRecords().AppendEmpty())
		}
	}
	_, result := mustDecode(t, accepted.logs, Options{})
	return result
}

// TestLateRefusalsLeaveNothing: with any budget, a refused record counts once, and the message has neither its entries nor its size.
func TestLateRefusalsLeaveNothing(t *testing.T) {
	keys := newPayload("")
	for s := range 5 {
		labels := make([]label, 1000)
		for i := range labels {
			labels[i] = str(fmt.Sprint("k", s*1000+i), "v")
		}
		keys.sample([]uint64{keys.location(fmt.Sprint("f", s), "main.js", 7)}, nil, labels...)
	}
	pprofs, mixed := newRequest("nodejs"), newRequest("nodejs")
	for _, body := range []string{keys.body(t), onePayload(str("a", "b")).body(t), keys.body(t), onePayload(str("k1", "c")).body(t)} {
		pprofs.addPprof(body)
		mixed.addPprof(body)
		mixed.addText(oneFrame)
	}
	for name, r := range map[string]request{"pprofs": pprofs, "with texts": mixed} {
		asked := int64(0)
		require.NoError(t, translating(r.logs)(func(n int64) error { asked = n; return nil }))
		both := 0 // the steps that accept some records and refuse others
		for step := range int64(60) {
			pd, result := NewDecoder(Options{}).Decode(r.logs, received, func(n int64) error {
				if n > asked*step/60 {
					return errors.New("no more")
				}
				return nil
			})
			accepted := result.PprofRecords + result.TextRecords
			assert.Equal(t, result.Records, accepted+len(result.Refused), "%s: %d", name, step)
			if accepted > 0 {
				require.NoError(t, checkOptions.Check(pd), "%s: %d", name, step)
				location := pd.Dictionary().LocationTable().At(1)
				assert.Equal(t, map[string]any{"profile.frame.type": "v8js"}, attributesOf(pd, location.AttributeIndices()), "%s: %d", name, step)
			}
			if accepted > 0 && len(result.Refused) > 0 {
				both++
			}
			want := acceptedAlone(t, r, result.Refused)
			assert.Equal(t, [2]int{want.Events, want.Samples}, [2]int{result.Events, result.Samples}, "%s: %d", name, step)
			assert.Equal(t, want.Repairs, result.Repairs, "%s: %d", name, step)
			assert.InDelta(t, want.MessageBytes, result.MessageBytes, 4096, "%s: %d", name, step)
		}
		assert.Greater(t, both, 10, name)
	}
}
