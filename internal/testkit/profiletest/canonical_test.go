// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// TestRepeatedKeys: the order of keys does not count, that of the values of one key does.
func TestRepeatedKeys(t *testing.T) {
	const (
		a1 = `{"key":"a","value":{"intValue":"1"}}`
		a2 = `{"key":"a","value":{"intValue":"2"}}`
		b  = `{"key":"b","value":{"intValue":"1"}}`
	)
	read := func(pairs string) pprofile.Profiles {
		pd, err := (&pprofile.JSONUnmarshaler{}).UnmarshalProfiles([]byte(
			`{"resourceProfiles":[{"resource":{"attributes":[` + pairs + `]},"scopeProfiles":[{"profiles":[{}]}]}]}`))
		require.NoError(t, err)
		return pd
	}
	first := read(a1 + "," + a2 + "," + b)
	assert.Empty(t, Diff(first, read(b+","+a1+","+a2)))
	assert.Empty(t, Diff(first, read(a1+","+b+","+a2)))
	assert.NotEmpty(t, Diff(first, read(a2+","+a1+","+b)))
	assert.NotEmpty(t, Diff(first, read(a1+","+b)))
}

// FuzzCheckAndDiff feeds arbitrary messages to the check and the comparison: neither panics, and every message is the
// same as itself.
//
//	go test -fuzz FuzzCheckAndDiff -fuzztime 100000x ./internal/testkit/profiletest
func FuzzCheckAndDiff(f *testing.F) {
	for _, change := range []func(pprofile.Profiles){
		func(pprofile.Profiles) {},
		func(pd pprofile.Profiles) { firstSample(pd).SetStackIndex(-1) },
		func(pd pprofile.Profiles) { pd.Dictionary().LocationTable().At(1).SetMappingIndex(1 << 30) },
		func(pd pprofile.Profiles) {
			pd.Dictionary().AttributeTable().At(1).Value().SetEmptyMap().PutEmptySlice("a")
		},
		func(pd pprofile.Profiles) { firstSample(pd).TimestampsUnixNano().Append(1, 2, 3) },
	} {
		pd := newMessage()
		change(pd)
		content, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(pd)
		require.NoError(f, err)
		f.Add(content)
	}
	unmarshaler := &pprofile.ProtoUnmarshaler{}
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 10<<10 {
			t.Skip("longer than a message needs to be")
		}
		pd, err := unmarshaler.UnmarshalProfiles(content)
		if err != nil {
			return
		}
		require.Empty(t, Diff(pd, pd))
		_ = Diff(pd, newMessage())
		strict := CheckOptions{Deduplicated: true}.Check(pd)
		if Check(pd) != nil {
			require.Error(t, strict)
		}
	})
}
