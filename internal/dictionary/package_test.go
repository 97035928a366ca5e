// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// value makes a value from Go's own types.
func value(t require.TestingT, raw any) pcommon.Value {
	v := pcommon.NewValueEmpty()
	require.NoError(t, v.FromRaw(raw))
	return v
}

// kvlist makes a map of pairs in this order: keys at the even positions, values behind them.
func kvlist(t require.TestingT, pairs ...any) pcommon.Value {
	v := pcommon.NewValueMap()
	for i := 0; i < len(pairs); i += 2 {
		// Put would replace a key that is there, so repeated keys are renamed afterwards by appendPair.
		appendPair(t, v.Map(), pairs[i].(string), pairs[i+1])
	}
	return v
}

// appendPair appends a pair, even if its key is there already.
func appendPair(t require.TestingT, m pcommon.Map, key string, raw any) {
	if inner, ok := raw.(pcommon.Value); ok {
		inner.CopyTo(m.PutEmpty(key))
		return
	}
	require.NoError(t, m.PutEmpty(key).FromRaw(raw))
}

// newTables returns tables with their zero entries.
func newTables() pprofile.ProfilesDictionary {
	d := pprofile.NewProfilesDictionary()
	New().WriteTo(d)
	return d
}

// bytesOf returns a dictionary as it stands on the wire.
func bytesOf(t require.TestingT, d pprofile.ProfilesDictionary) []byte {
	pd := pprofile.NewProfiles()
	d.CopyTo(pd.Dictionary())
	content, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(pd)
	require.NoError(t, err)
	return content
}
