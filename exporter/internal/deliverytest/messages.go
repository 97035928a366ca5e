// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package deliverytest has the helpers that the tests of the exporters pprof and profile_view share.
package deliverytest // import "github.com/otelpprof/otelpprof/exporter/internal/deliverytest"

import (
	"bytes"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

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

// Patience is how long a test waits for an event that must happen. It is long enough for slow machines.
const Patience = 2 * time.Minute

// FreeEndpoint returns an address on which nothing listens.
func FreeEndpoint(tb testing.TB) string {
	tb.Helper()
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	defer listener.Close()
	return listener.Addr().String()
}

// Counted returns the sum of a counter over the points with an attribute; without one, over all.
func Counted(tb testing.TB, telemetry *componenttest.Telemetry, name, key, value string) int64 {
	tb.Helper()
	m, err := telemetry.GetMetric(name)
	if err != nil {
		return 0 // nothing was counted yet
	}
	sum, isSum := m.Data.(metricdata.Sum[int64])
	require.True(tb, isSum)
	total := int64(0)
	for _, point := range sum.DataPoints {
		if got, found := point.Attributes.Value(attribute.Key(key)); key == "" || found && got.AsString() == value {
			total += point.Value
		}
	}
	return total
}
