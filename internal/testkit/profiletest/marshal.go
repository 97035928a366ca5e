// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// T is a test, or one of rapid.
type T interface {
	require.TestingT
	Helper()
}

// Marshal returns a message in protobuf. It marshals a copy: pdata moves the strings of attributes to the dictionary of what it marshals.
func Marshal(t T, pd pprofile.Profiles) []byte {
	t.Helper()
	written := pprofile.NewProfiles()
	pd.CopyTo(written)
	message, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(written)
	require.NoError(t, err)
	return message
}

// Unmarshal returns a message that is in protobuf.
func Unmarshal(t T, message []byte) pprofile.Profiles {
	t.Helper()
	pd, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(message)
	require.NoError(t, err)
	return pd
}
