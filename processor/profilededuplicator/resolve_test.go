// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

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
