// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpreferences

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"google.golang.org/protobuf/encoding/protowire"
)

func message() pprofile.Profiles {
	pd := pprofile.NewProfiles()
	pd.Dictionary().StringTable().Append("", "kept")
	resource := pd.ResourceProfiles().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", "checkout")
	resource.Resource().Attributes().PutInt("port", 8)
	resource.Resource().Attributes().PutEmptySlice("list").AppendEmpty().SetStr("inner")
	scope := resource.ScopeProfiles().AppendEmpty()
	scope.Scope().Attributes().PutStr("scope", "value")
	scope.Profiles().AppendEmpty().SetTime(7)
	return pd
}

// nothing reserves nothing.
func nothing() error { return nil }

// TestResolveReserves: without the memory for a copy, the message stays as it is. A message without references needs no copy.
func TestResolveReserves(t *testing.T) {
	pd := message()
	none := errors.New("no memory")
	refuse := func() error { return none }
	_, _, err := Resolve(pd, refuse)
	require.NoError(t, err)
	_, err = (&pprofile.ProtoMarshaler{}).MarshalProfiles(pd)
	require.NoError(t, err)
	same, did, err := Resolve(pd, refuse)
	require.ErrorIs(t, err, none)
	assert.False(t, did)
	assert.Equal(t, pd, same)
}

// TestResolve: keys and strings are resolved. To make a message with references, the test marshals one: pdata then leaves them
// in the original.
func TestResolve(t *testing.T) {
	want := message()
	pd := message()
	_, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(pd)
	require.NoError(t, err)
	_, found := pd.ResourceProfiles().At(0).Resource().Attributes().Get("service.name")
	require.False(t, found, "the message has no references")

	resolved, did, err := Resolve(pd, nothing)
	require.NoError(t, err)
	assert.True(t, did)
	got := resolved.ResourceProfiles().At(0)
	assert.True(t, got.Resource().Attributes().Equal(want.ResourceProfiles().At(0).Resource().Attributes()))
	assert.True(t, got.ScopeProfiles().At(0).Scope().Attributes().Equal(want.ResourceProfiles().At(0).ScopeProfiles().At(0).Scope().Attributes()))
	assert.Equal(t, "kept", resolved.Dictionary().StringTable().At(1))
	assert.Equal(t, pcommon.Timestamp(7), got.ScopeProfiles().At(0).Profiles().At(0).Time())
}

func TestResolveLeavesOthers(t *testing.T) {
	pd := message()
	same, did, err := Resolve(pd, nothing)
	require.NoError(t, err)
	assert.False(t, did)
	assert.Equal(t, pd, same)
}

// TestResolveReadOnly: a read-only message is copied.
func TestResolveReadOnly(t *testing.T) {
	pd := message()
	_, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(pd)
	require.NoError(t, err)
	pd.MarkReadOnly()
	resolved, did, err := Resolve(pd, nothing)
	require.NoError(t, err)
	assert.True(t, did)
	_, found := resolved.ResourceProfiles().At(0).Resource().Attributes().Get("service.name")
	assert.True(t, found)
}

// TestResolveEmptyKey: an attribute whose key is really empty stays as it is.
func TestResolveEmptyKey(t *testing.T) {
	pd := message()
	pd.ResourceProfiles().At(0).Resource().Attributes().PutStr("", "nameless")
	resolved, did, err := Resolve(pd, nothing)
	require.NoError(t, err)
	assert.True(t, did)
	value, found := resolved.ResourceProfiles().At(0).Resource().Attributes().Get("")
	assert.True(t, found)
	assert.Equal(t, "nameless", value.Str())
}

// withBoth returns a message whose attributes have a key and a reference, as pdata v0.159 sends them.
func withBoth(t *testing.T) pprofile.Profiles {
	t.Helper()
	keyValue := func(key string, value []byte) []byte {
		wire := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), key)
		wire = protowire.AppendBytes(protowire.AppendTag(wire, 2, protowire.BytesType), value)
		return protowire.AppendVarint(protowire.AppendTag(wire, 3, protowire.VarintType), 7)
	}
	text := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "a")
	inner := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), keyValue("inner", text))
	list := protowire.AppendBytes(protowire.AppendTag(nil, 6, protowire.BytesType), inner)
	var wire []byte
	for _, attribute := range [][]byte{keyValue("service.name", text), keyValue("map", list)} {
		wire = protowire.AppendBytes(protowire.AppendTag(wire, 1, protowire.BytesType), attribute)
	}
	for range 2 { // The attributes are in a resource, which is in a message.
		wire = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), wire)
	}
	pd, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(wire)
	require.NoError(t, err)
	return pd
}

// TestResolveBoth: references in addition to keys are removed, also in nested values, and nothing else changes.
func TestResolveBoth(t *testing.T) {
	for name, shared := range map[string]bool{"own": false, "read-only": true} {
		t.Run(name, func(t *testing.T) {
			pd := withBoth(t)
			before := (&pprofile.ProtoMarshaler{}).ProfilesSize(pd)
			if shared {
				pd.MarkReadOnly()
			}
			out, did, err := Resolve(pd, nothing)
			require.NoError(t, err)
			assert.True(t, did)
			assert.Equal(t, map[string]any{"service.name": "a", "map": map[string]any{"inner": "a"}},
				out.ResourceProfiles().At(0).Resource().Attributes().AsRaw())
			assert.Equal(t, before-3*2, (&pprofile.ProtoMarshaler{}).ProfilesSize(out), "three references of two bytes")
			_, again, err := Resolve(out, nothing)
			require.NoError(t, err)
			assert.False(t, again)
		})
	}
}
