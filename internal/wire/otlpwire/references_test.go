// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpwire

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"google.golang.org/protobuf/encoding/protowire"
)

// attribute returns a KeyValue with a key, a reference of two bytes if it is not 0, and a value.
func attribute(key string, reference uint64, value []byte) []byte {
	var wire []byte
	if reference != 0 {
		wire = protowire.AppendVarint(protowire.AppendTag(wire, keyReferenceField, protowire.VarintType), reference)
	}
	wire = protowire.AppendString(protowire.AppendTag(wire, keyField, protowire.BytesType), key)
	return within(2, value, wire)
}

// within appends content to wire as a field.
func within(number protowire.Number, content, wire []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(wire, number, protowire.BytesType), content)
}

// attributesOf returns a request whose resource and scope have these attributes, and a dictionary.
func attributesOf(attributes ...[]byte) []byte {
	var inResource, inScope []byte
	for _, a := range attributes {
		inResource, inScope = within(1, a, inResource), within(3, a, inScope)
	}
	scopes := within(1, inScope, within(2, nil, nil)) // and an empty profile
	var tables []byte
	for _, text := range []string{"", "referred"} {
		tables = within(5, []byte(text), tables)
	}
	return within(2, tables, within(1, within(2, scopes, within(1, inResource, nil)), nil))
}

// TestClearKeyReferences: pdata refuses the message, unless the references beside keys are cleared, also those in nested values.
// A reference without a key stays.
func TestClearKeyReferences(t *testing.T) {
	const far = 200
	text := within(1, []byte("a"), nil)
	nested := within(6, within(1, attribute("inner", far, text), nil), nil)
	list := within(5, within(1, nested, nil), nil)
	body := attributesOf(attribute("service.name", far, text), attribute("map", far, nested), attribute("list", far, list), attribute("", 1, text))
	_, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(body)
	require.ErrorContains(t, err, "both key and key_strindex")
	_, err = Count(Profiles, body)
	require.NoError(t, err)

	ClearKeyReferences(body)
	pd, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(body)
	require.NoError(t, err)
	inner := map[string]any{"inner": "a"}
	want := map[string]any{"service.name": "a", "map": inner, "list": []any{inner}, "referred": "a"}
	got := pd.ResourceProfiles().At(0)
	assert.Equal(t, want, got.Resource().Attributes().AsRaw())
	assert.Equal(t, want, got.ScopeProfiles().At(0).Scope().Attributes().AsRaw())
	assert.Equal(t, 1, got.ScopeProfiles().At(0).Profiles().Len())
}

// TestClearKeyReferencesLeavesOthers: messages without such references stay as they are, as well as malformed ones.
func TestClearKeyReferencesLeavesOthers(t *testing.T) {
	valid := attributesOf(attribute("service.name", 0, within(1, []byte("a"), nil)), attribute("", 1, nil))
	for end := range len(valid) + 1 {
		body := bytes.Clone(valid[:end])
		ClearKeyReferences(body)
		assert.Equal(t, valid[:end], body)
	}
}
