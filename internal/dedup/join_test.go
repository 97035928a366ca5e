// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
)

// Join of all messages gives the same result as of one after the other, also if one is invalid.
func TestJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want pprofile.Profiles
		messages := rapid.SliceOfN(gen.Profiles(), 1, 4).Draw(t, "messages")
		readOnly := rapid.Bool().Draw(t, "read only")
		if fault := rapid.SampledFrom(gen.Faults()).Draw(t, "fault"); len(messages) > 1 && rapid.Bool().Draw(t, "broken") {
			broken := rapid.IntRange(0, len(messages)-1).Draw(t, "which")
			gen.Break(messages[broken], fault, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		}
		for i, pd := range messages {
			if i == 0 {
				want = clone(pd)
			} else {
				want = dedup.Join([]pprofile.Profiles{want, clone(pd)})
			}
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
				assert.Equal(t, 1, after.ProfileCount())
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

// appendUnused appends entries to which only each other refer.
func appendUnused(d pprofile.ProfilesDictionary) {
	text := int32(d.StringTable().Len())
	d.StringTable().Append("unused")
	function := int32(d.FunctionTable().Len())
	d.FunctionTable().AppendEmpty().SetNameStrindex(text)
	d.MappingTable().AppendEmpty().SetFilenameStrindex(text)
	location := int32(d.LocationTable().Len())
	d.LocationTable().AppendEmpty().Lines().AppendEmpty().SetFunctionIndex(function)
	d.StackTable().AppendEmpty().LocationIndices().Append(location)
	attribute := d.AttributeTable().AppendEmpty()
	attribute.SetKeyStrindex(text)
	attribute.Value().SetStr("unused")
	d.LinkTable().AppendEmpty().SetSpanID([8]byte{1})
}

// TestUnusedEnds: unused entries at the ends of the tables are removed, without a change of any index. Samples are combined as
// without such entries.
func TestUnusedEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pd, _ := deduplicate(t, gen.Profiles().Draw(t, "message"))
		if rapid.Bool().Draw(t, "two equal samples") {
			repeatSample(pd)
		}
		before := clone(pd)
		appendUnused(pd.Dictionary())
		want, _ := deduplicate(t, before)
		got, stats := deduplicate(t, pd)
		assert.True(t, stats.Changed)
		requireCanonical(t, got)
		assert.Equal(t, profiletest.Marshal(t, want), profiletest.Marshal(t, got))
	})
}

// repeatSample appends the first sample of each profile to the profile.
func repeatSample(pd pprofile.Profiles) {
	for profile := range walk.Profiles(pd) {
		if samples := profile.Samples(); samples.Len() > 0 {
			samples.At(0).CopyTo(samples.AppendEmpty())
		}
	}
}

// TestConcurrentUse uses one Deduplicator for similar messages at the same time, for the race detector.
func TestConcurrentUse(t *testing.T) {
	core := dedup.New(dedup.Options{})
	messages := []pprofile.Profiles{faultyEverywhere(), mergeMessage(20, 50), mergeMessage(3, 0), shared(100, 5)}
	var want [][]byte
	for _, pd := range messages {
		one, _, err := core.Deduplicate(clone(pd))
		require.NoError(t, err)
		want = append(want, profiletest.Marshal(t, one))
		pd.MarkReadOnly()
	}
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 20 {
				n := (worker + i) % len(messages)
				one, _, err := core.Deduplicate(clone(messages[n]))
				assert.NoError(t, err)
				assert.True(t, bytes.Equal(want[n], profiletest.Marshal(t, one)))
			}
		})
	}
	group.Wait()
}

// Resources with equal attributes are joined only if their entity references are equal, too.
func TestEntitiesAreKept(t *testing.T) {
	changes := map[string]func(entity.EntityRef){
		"nothing":             func(entity.EntityRef) {},
		"the schema URL":      func(reference entity.EntityRef) { reference.SetSchemaUrl("https://example.com/2") },
		"the type":            func(reference entity.EntityRef) { reference.SetType("service") },
		"a key":               func(reference entity.EntityRef) { reference.IdKeys().SetAt(0, "host.name") },
		"one key more":        func(reference entity.EntityRef) { reference.IdKeys().Append("") },
		"the list of the key": func(reference entity.EntityRef) { reference.IdKeys().MoveAndAppendTo(reference.DescriptionKeys()) },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			pd := processes("", "")
			pd.ResourceProfiles().At(0).CopyTo(pd.ResourceProfiles().AppendEmpty())
			for i, resource := range pd.ResourceProfiles().All() {
				reference := entity.ResourceEntityRefs(resource.Resource()).AppendEmpty()
				reference.SetType("host")
				reference.IdKeys().Append("host.id")
				if i == 1 {
					change(reference)
				}
			}
			want := entitiesOf(t, pd)
			after, _ := deduplicate(t, pd)
			if name == "nothing" {
				want = want[:1]
			}
			assert.Equal(t, want, entitiesOf(t, after))
		})
	}
}

func entitiesOf(t *testing.T, pd pprofile.Profiles) (all []string) {
	t.Helper()
	for _, resource := range pd.ResourceProfiles().All() {
		for _, reference := range entity.ResourceEntityRefs(resource.Resource()).All() {
			all = append(all, fmt.Sprintf("%q %q %q %q", reference.SchemaUrl(), reference.Type(), reference.IdKeys().AsRaw(), reference.DescriptionKeys().AsRaw()))
		}
	}
	return all
}
