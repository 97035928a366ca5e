// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/featuregate"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/xpdata/pref"
)

// eachPooling runs a test with and without the Collector's gate for pooling, each in a bubble of time.
func eachPooling(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	for _, on := range []bool{false, true} {
		t.Run(fmt.Sprintf("pooling=%t", on), func(t *testing.T) {
			setPooling(t, on)
			synctest.Test(t, test)
		})
	}
}

// setPooling sets the gate until the end of the test.
func setPooling(tb testing.TB, on bool) {
	tb.Helper()
	gate, before := pref.UseProtoPooling.ID(), pref.UseProtoPooling.IsEnabled()
	require.NoError(tb, featuregate.GlobalRegistry().Set(gate, on))
	tb.Cleanup(func() { require.NoError(tb, featuregate.GlobalRegistry().Set(gate, before)) })
}

// service is before each component of a pipeline: the first one that a message comes to releases it when the call returns,
// and with the gate for pooling it is empty then unless somebody else has a reference.
type service struct{ xconsumer.Profiles }

func (s service) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	if pref.MarkPipelineOwnedProfiles(pd) {
		defer pref.UnrefProfiles(pd)
	}
	return s.Profiles.ConsumeProfiles(ctx, pd)
}

// A message that nobody holds is gone when the call returns: the tests of what is held would fail without references.
func TestServiceFreesMessages(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		f := start(t, &sink{}, nil)
		pd := upload("checkout", 1, 1)
		require.NoError(t, f.ConsumeProfiles(t.Context(), pd))
		require.Equal(t, pref.UseProtoPooling.IsEnabled(), pd.ProfileCount() == 0)
		require.Equal(t, map[string]int64{"checkout/1": 1}, f.next.totals())
	})
}
