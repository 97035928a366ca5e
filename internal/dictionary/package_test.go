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

// fromJSON makes a value from OTLP's JSON, which can have a key twice. pdata's methods prevent that.
func fromJSON(t require.TestingT, json string) pcommon.Value {
	message := `{"resourceProfiles":[{"resource":{"attributes":[{"key":"k","value":` + json + `}]}}]}`
	pd, err := (&pprofile.JSONUnmarshaler{}).UnmarshalProfiles([]byte(message))
	require.NoError(t, err)
	v, found := pd.ResourceProfiles().At(0).Resource().Attributes().Get("k")
	require.True(t, found)
	return v
}

// newTables returns tables with their zero entries.
func newTables() pprofile.ProfilesDictionary {
	d := pprofile.NewProfilesDictionary()
	New().WriteTo(d)
	return d
}

// bytesOf returns the encoded dictionary.
func bytesOf(t require.TestingT, d pprofile.ProfilesDictionary) []byte {
	pd := pprofile.NewProfiles()
	d.CopyTo(pd.Dictionary())
	content, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(pd)
	require.NoError(t, err)
	return content
}
