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

// eachPooling runs a test with and without the Collector's feature gate for pooling, each in a synctest bubble.
func eachPooling(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	for _, on := range []bool{false, true} {
		t.Run(fmt.Sprintf("pooling=%t", on), func(t *testing.T) {
			setPooling(t, on)
			synctest.Test(t, test)
		})
	}
}

// setPooling sets the feature gate until the end of the test.
func setPooling(tb testing.TB, on bool) {
	tb.Helper()
	gate, before := pref.UseProtoPooling.ID(), pref.UseProtoPooling.IsEnabled()
	require.NoError(tb, featuregate.GlobalRegistry().Set(gate, on))
	tb.Cleanup(func() { require.NoError(tb, featuregate.GlobalRegistry().Set(gate, before)) })
}

// service does what the Collector does in front of the first component of a pipeline: when the call returns, it releases its
// reference to the message. With pooling, the message is empty then, unless another component has a reference.
type service struct{ xconsumer.Profiles }

func (s service) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	if pref.MarkPipelineOwnedProfiles(pd) {
		defer pref.UnrefProfiles(pd)
	}
	return s.Profiles.ConsumeProfiles(ctx, pd)
}

// A message without a reference is empty when the call returns. So the tests of held messages would fail without references.
func TestServiceFreesMessages(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		f := start(t, &sink{}, nil)
		pd := upload("checkout", 1, 1)
		require.NoError(t, f.ConsumeProfiles(t.Context(), pd))
		require.Equal(t, pref.UseProtoPooling.IsEnabled(), pd.ProfileCount() == 0)
		require.Equal(t, map[string]int64{"checkout/1": 1}, f.next.totals())
	})
}
