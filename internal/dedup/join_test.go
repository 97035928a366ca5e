// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
)

// Join gives the same result as Concat of one message after the other to an empty one, also if one is invalid.
func TestJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := pprofile.NewProfiles()
		messages := rapid.SliceOfN(gen.Profiles(), 0, 4).Draw(t, "messages")
		readOnly := rapid.Bool().Draw(t, "read only")
		if fault := rapid.SampledFrom(gen.Faults()).Draw(t, "fault"); len(messages) > 1 && rapid.Bool().Draw(t, "broken") {
			broken := rapid.IntRange(0, len(messages)-1).Draw(t, "which")
			gen.Break(messages[broken], fault, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		}
		for i, pd := range messages {
			dedup.Concat(want, clone(pd))
			if readOnly {
				messages[i].MarkReadOnly()
			}
		}
		joined := dedup.Join(messages)
		require.Equal(t, profiletest.Marshal(t, want), profiletest.Marshal(t, joined))
		for _, pd := range messages {
			assert.Equal(t, readOnly, pd.IsReadOnly())
		}
	})
}

// TestJoinKeepsSendersApart: an index out of range in the first message does not refer to an entry of the next one, which may be of
// another sender. Its profile is dropped, as in the message alone.
func TestJoinKeepsSendersApart(t *testing.T) {
	for _, fault := range gen.Faults() {
		if !fault.Index {
			continue
		}
		t.Run(fault.Name, func(t *testing.T) {
			for seed := range uint64(64) {
				messages := []pprofile.Profiles{ofFunction("main"), ofFunction("secret.func")}
				_, ok := gen.Break(messages[0], fault, rand.New(rand.NewPCG(seed, 0)))
				require.True(t, ok)
				after, stats := deduplicate(t, dedup.Join(messages))
				assert.Equal(t, 1, stats.Invalid[dedup.IndexOutOfRange])
				service, _ := after.ResourceProfiles().At(0).Resource().Attributes().Get("service.name")
				assert.Equal(t, "secret.func", service.Str())
				assert.Equal(t, 1, profiles(after))
			}
		})
	}
}

// ofFunction makes a message with one sample that refers to entry 1 of each table. Its service has the name of the function.
func ofFunction(name string) pprofile.Profiles {
	pd := samplesOf(func(sample func(int32) pprofile.Sample) { sample(1).Values().Append(1) })
	d := pd.Dictionary()
	pd.ResourceProfiles().At(0).Resource().Attributes().PutStr("service.name", name)
	d.StringTable().Append(name)
	d.FunctionTable().AppendEmpty().SetNameStrindex(int32(d.StringTable().Len() - 1))
	d.MappingTable().AppendEmpty().SetMemoryStart(1)
	location := d.LocationTable().At(1)
	location.SetMappingIndex(1)
	location.Lines().AppendEmpty().SetFunctionIndex(1)
	d.LinkTable().AppendEmpty().SetTraceID(pcommon.TraceID{1})
	return pd
}
