// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/memory/size"
	"github.com/otelpprof/otelpprof/processor/profilededuplicator/internal/metadatatest"
)

// TestReferencesOfAttributes: if the attributes of a message are references to the dictionary, they are resolved, and the
// message is counted. Otherwise the message would be invalid, since all keys are empty. To make such a message, the test
// marshals one.
func TestReferencesOfAttributes(t *testing.T) {
	next := &sink{}
	f := start(t, next, func(cfg *Config) { cfg.OnInvalid = OnInvalidReject })
	pd := upload("checkout", 1, 1)
	pd.ResourceProfiles().At(0).Resource().Attributes().PutStr("host.name", "a")
	_, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(pd)
	require.NoError(t, err)
	require.NoError(t, f.ConsumeProfiles(t.Context(), pd))
	require.NoError(t, f.ConsumeProfiles(t.Context(), upload("other", 2, 1)))
	assert.Equal(t, map[string]int64{"checkout/1": 1, "other/2": 1}, next.totals())
	metadatatest.AssertEqualProcessorProfileDeduplicatorResolvedMessages(t, f.telemetry, points(1), onlyValues()...)
}

// references returns a message whose attributes are references to the dictionary.
func references(tb testing.TB) pprofile.Profiles {
	tb.Helper()
	pd := upload("checkout", 1, make([]int64, 1000)...)
	_, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(pd)
	require.NoError(tb, err)
	return pd
}

// To resolve references takes a copy of the message, which is reserved before, beside what the receiver reserved, until the message has been
// passed on.
func TestResolvedIsReserved(t *testing.T) {
	for name, change := range map[string]func(*Config){"synchronous": nil, "batch": waitOf(nil)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				next := &sink{}
				f := start(t, next, change)
				bytes := size.Of(references(t))
				used := int64(0)
				next.answer = func(int, pprofile.Profiles) error {
					used = f.used()
					return nil
				}
				request, err := f.budget.Reserve(t.Context(), bytes)
				require.NoError(t, err)
				require.NoError(t, f.ConsumeProfiles(memory.NewContext(t.Context(), request), references(t)))
				assert.GreaterOrEqual(t, used, 2*bytes)
				request.Release()
				assert.Zero(t, f.used())

				small, err := memory.New(3*bytes/2, time.Second).Reserve(t.Context(), bytes)
				require.NoError(t, err)
				err = f.ConsumeProfiles(memory.NewContext(t.Context(), small), references(t))
				require.ErrorIs(t, err, memory.ErrTooLarge)
				assert.True(t, consumererror.IsPermanent(err))
				assert.Equal(t, bytes, small.Bytes())
				assert.Len(t, next.taken(), 1)
				metadatatest.AssertEqualProcessorProfileDeduplicatorRefusedMessages(t, f.telemetry, points(1, because("too_large")), onlyValues()...)
			})
		})
	}
}
