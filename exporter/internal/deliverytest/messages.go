// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package deliverytest

import (
	"bytes"
	"os"
	"sync"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Decode returns a message with the profiles of a pprof and the attributes of a resource.
func Decode(tb testing.TB, payload []byte, attributes map[string]any) pprofile.Profiles {
	tb.Helper()
	resource := pcommon.NewMap()
	require.NoError(tb, resource.FromRaw(attributes))
	pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(payload, pprof.Source{Resource: resource})
	require.NoError(tb, err)
	return pd
}

// Parsed reads a pprof as go tool pprof does.
func Parsed(tb testing.TB, data []byte) *profile.Profile {
	tb.Helper()
	p, err := profile.ParseData(data)
	require.NoError(tb, err)
	return p
}

// OwnProfile returns a profile of testdata/pprof.
func OwnProfile(tb testing.TB, name string) []byte {
	tb.Helper()
	payload, err := os.ReadFile(profiletest.Testdata(tb, "pprof", name))
	require.NoError(tb, err)
	return payload
}

// CPU returns a message with a CPU profile of a service.
func CPU(tb testing.TB, service string) pprofile.Profiles {
	tb.Helper()
	return Decode(tb, SmallCPU(tb), map[string]any{"service.name": service})
}

// SmallCPU returns a part of the CPU profile of testdata/pprof. It is small, so that tests with the race detector are fast
// as well.
func SmallCPU(tb testing.TB) []byte {
	tb.Helper()
	makeSmall.Do(func() {
		p := Parsed(tb, OwnProfile(tb, "cpu.pb.gz"))
		p.Sample = p.Sample[:20]
		var out bytes.Buffer
		require.NoError(tb, p.Compact().Write(&out))
		small = out.Bytes()
	})
	require.NotEmpty(tb, small)
	return small
}

var (
	makeSmall sync.Once
	small     []byte
)

// Request joins messages into one.
func Request(tb testing.TB, parts ...pprofile.Profiles) pprofile.Profiles {
	tb.Helper()
	whole := pprofile.NewProfiles()
	for _, part := range parts {
		require.NoError(tb, part.MergeTo(whole))
	}
	return whole
}

// Spoil gives each profile of a resource a reference that does not exist, and returns the number of these profiles.
func Spoil(pd pprofile.Profiles, resource int) int {
	profiles := pd.ResourceProfiles().At(resource).ScopeProfiles().At(0).Profiles()
	for _, p := range profiles.All() {
		p.Samples().At(0).SetStackIndex(1 << 30)
	}
	return profiles.Len()
}
