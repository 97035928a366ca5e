// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"encoding/binary"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

const faulty, mended = "a\xff\xfeb", "a\uFFFDb"

// faultyEverywhere has text that is not UTF-8 in all 17 places for text.
func faultyEverywhere() pprofile.Profiles {
	pd := samplesOf(func(sample func(int32) pprofile.Sample) { sample(1).Values().Append(1) })
	d := pd.Dictionary()
	d.StringTable().SetAt(3, faulty)
	value := d.AttributeTable().At(3).Value()
	value.SetStr(faulty)
	list := d.AttributeTable().At(1).Value().SetEmptySlice()
	list.AppendEmpty().SetStr(faulty)
	pairs := list.AppendEmpty().SetEmptyMap()
	pairs.PutStr("key", faulty)
	pairs.PutStr(faulty, "value")
	resource := pd.ResourceProfiles().At(0)
	resource.SetSchemaUrl(faulty)
	resource.Resource().Attributes().PutStr("service.name", faulty)
	resource.Resource().Attributes().PutStr(faulty, "value")
	reference := entity.ResourceEntityRefs(resource.Resource()).AppendEmpty()
	reference.SetSchemaUrl(faulty)
	reference.SetType(faulty)
	reference.IdKeys().Append("service.name", faulty)
	reference.DescriptionKeys().Append(faulty)
	scope := resource.ScopeProfiles().At(0)
	scope.SetSchemaUrl(faulty)
	scope.Scope().SetName(faulty)
	scope.Scope().SetVersion(faulty)
	scope.Scope().Attributes().PutStr("key", faulty)
	scope.Profiles().At(0).SetOriginalPayloadFormat(faulty)
	return pd
}

func TestTextIsMended(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		pd := faultyEverywhere()
		before := profiletest.Marshal(t, pd)
		if readOnly {
			pd.MarkReadOnly()
		}
		after, stats := deduplicate(t, pd)
		if readOnly {
			assert.Equal(t, before, profiletest.Marshal(t, pd), "what is read-only stays")
		}
		assert.Equal(t, 17, stats.MendedTexts)
		assert.True(t, stats.Changed)
		assert.Zero(t, stats.Invalid)
		requireCanonical(t, after)

		d := after.Dictionary()
		assert.Contains(t, d.StringTable().AsRaw(), mended)
		assert.Equal(t, mended, d.AttributeTable().At(2).Value().Str())
		list := d.AttributeTable().At(1).Value().Slice()
		assert.Equal(t, []any{mended, map[string]any{"key": mended}}, list.AsRaw())
		resource := after.ResourceProfiles().At(0)
		assert.Equal(t, mended, resource.SchemaUrl())
		assert.Equal(t, map[string]any{"service.name": mended}, resource.Resource().Attributes().AsRaw())
		reference := entity.ResourceEntityRefs(resource.Resource()).At(0)
		assert.Equal(t, mended, reference.SchemaUrl())
		assert.Equal(t, mended, reference.Type())
		assert.Equal(t, []string{"service.name", mended}, reference.IdKeys().AsRaw())
		assert.Equal(t, []string{mended}, reference.DescriptionKeys().AsRaw())
		scope := resource.ScopeProfiles().At(0)
		assert.Equal(t, mended, scope.SchemaUrl())
		assert.Equal(t, mended, scope.Scope().Name())
		assert.Equal(t, mended, scope.Scope().Version())
		assert.Equal(t, map[string]any{"key": mended}, scope.Scope().Attributes().AsRaw())
		assert.Equal(t, mended, scope.Profiles().At(0).OriginalPayloadFormat())

		_, stats = deduplicate(t, clone(after))
		assert.False(t, stats.Changed)
		assert.Zero(t, stats.MendedTexts)
	}
}

// Strings that become equal are one entry. Keys that become equal get a number, so that no profile has a key twice.
func TestMendedTextsMeet(t *testing.T) {
	pd := samplesOf(func(sample func(int32) pprofile.Sample) {
		sample(1).Values().Append(1)
		sample(0).Values().Append(2)
	})
	d := pd.Dictionary()
	d.StringTable().FromRaw([]string{"", "cpu", "nanoseconds", "a\xfe", "b\xfe", "b\xff", "a\xff", "b\xfe", "b\uFFFD"})
	d.FunctionTable().At(1).SetFilenameStrindex(6)
	sample := onlyProfile(pd).Samples().At(0)
	for i, key := range []int32{7, 8} { // the first is equal to another one
		attribute := d.AttributeTable().AppendEmpty()
		attribute.SetKeyStrindex(key)
		attribute.Value().SetInt(int64(i + 1))
		if i > 0 {
			sample.AttributeIndices().Append(int32(d.AttributeTable().Len() - 1))
		}
	}
	after, stats := deduplicate(t, pd)
	assert.Zero(t, stats.Invalid)
	assert.Equal(t, 5, stats.MendedTexts)
	assert.Equal(t, 1, after.ProfileCount())
	assert.Equal(t, map[string]string{"b\uFFFD.2": "1", "b\uFFFD.3": "eu", "b\uFFFD": "2"}, attributesOfSample(after, 0))
	function := after.Dictionary().FunctionTable().At(1)
	assert.Equal(t, function.NameStrindex(), function.FilenameStrindex())
	requireCanonical(t, after)
	_, stats = deduplicate(t, clone(after))
	assert.False(t, stats.Changed)
}

// attributesOfSample returns the attributes of a sample as text.
func attributesOfSample(pd pprofile.Profiles, number int) map[string]string {
	all := map[string]string{}
	for _, i := range onlyProfile(pd).Samples().At(number).AttributeIndices().All() {
		attribute := pd.Dictionary().AttributeTable().At(int(i))
		all[pd.Dictionary().StringTable().At(int(attribute.KeyStrindex()))] = attributevalue.Text(attribute.Value())
	}
	return all
}

// TestManyMendedKeys: keys that all become equal are numbered in linear time.
func TestManyMendedKeys(t *testing.T) {
	n := many(t) / 10
	pd := samplesOf(func(sample func(int32) pprofile.Sample) { sample(0).Values().Append(1) })
	d, sample := pd.Dictionary(), onlyProfile(pd).Samples().At(0)
	for i := range n {
		d.StringTable().Append("k" + string(binary.LittleEndian.AppendUint32([]byte{0xff}, uint32(i)|0x80808080)))
		attribute := d.AttributeTable().AppendEmpty()
		attribute.SetKeyStrindex(int32(d.StringTable().Len() - 1))
		attribute.Value().SetInt(7)
		sample.AttributeIndices().Append(int32(d.AttributeTable().Len() - 1))
	}
	different := map[string]bool{}
	for _, text := range d.StringTable().All() {
		different[text] = true
	}
	after, stats := deduplicate(t, pd)
	assert.Zero(t, stats.Invalid)
	assert.Equal(t, len(different)-6, onlyProfile(after).Samples().At(0).AttributeIndices().Len())
}

// pdata can read attributes with a key twice, and can create them, if a key is set in place of another one.
func repeatKey(t *testing.T, pd pprofile.Profiles, inScope bool, pairs int, value string) pprofile.Profiles {
	t.Helper()
	attributes := pd.ResourceProfiles().At(0).Resource().Attributes()
	if inScope {
		attributes = pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Scope().Attributes()
	}
	attributes.PutStr("kez", "one")
	for i := range pairs {
		attributes.PutInt(strconv.Itoa(i), int64(i))
	}
	attributes.PutStr("key", value)
	message := profiletest.Marshal(t, pd)
	for i := range message {
		if string(message[i:min(i+3, len(message))]) == "kez" {
			message[i+2] = 'y'
		}
	}
	result, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(message)
	require.NoError(t, err)
	return result
}

func TestKeysOfContainersStandOnce(t *testing.T) {
	for _, inScope := range []bool{false, true} {
		for _, pairs := range []int{0, 5, 50} {
			message := func(value string) pprofile.Profiles {
				pd := samplesOf(func(sample func(int32) pprofile.Sample) { sample(1).Values().Append(1) })
				pd = repeatKey(t, pd, inScope, pairs, value)
				sound := samplesOf(func(sample func(int32) pprofile.Sample) { sample(1).Values().Append(1) })
				sound.ResourceProfiles().At(0).Resource().Attributes().PutStr("service.name", "other")
				pd = dedup.Join([]pprofile.Profiles{pd, sound})
				return pd
			}
			after, stats := deduplicate(t, message("one"))
			assert.True(t, stats.Changed)
			assert.Zero(t, stats.Invalid)
			assert.Equal(t, 2, after.ProfileCount())
			requireCanonical(t, after)

			after, stats = deduplicate(t, message("two"))
			assert.Equal(t, 1, stats.Invalid[dedup.DuplicateKey])
			assert.Equal(t, 1, after.ProfileCount())
			requireCanonical(t, after)

			_, _, err := dedup.New(dedup.Options{OnInvalid: dedup.Reject}).Deduplicate(message("two"))
			assert.EqualError(t, err, `profile 0 of scope 0 of resource 0 is invalid: attribute "key" appears twice, with different values`)
		}
	}
}
