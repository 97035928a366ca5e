// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/memory/size"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// deep is the largest number of levels for which the stack of the tests is large enough for pdata to measure the size.
const deep = 250_000

// tooDeep returns a message with a valid profile, and one with an attribute of that many levels.
func tooDeep(place string, levels int) pprofile.Profiles {
	pd := upload("deep", 1, 3)
	profiletest.Deepen(pd, place, levels)
	return together(pd, upload("sound", 2, 5))
}

// everything enables all options that hold, compare or join messages.
func everything(cfg *Config) {
	batchOf(func(section *BatchConfig) { section.Timeout = 10 * time.Millisecond })(cfg)
	repeatedOf(nil)(cfg)
	cfg.GroupByAttributes = []string{"process.executable.name"}
	cfg.MergeProfiles = configoptional.Some(*cfg.MergeProfiles.GetOrInsertDefault())
}

// TestDeepValues: no code except pdata's recurses into a deeply nested value. The stack of the test is just large enough for
// pdata to measure the size, which needs the least stack. Any other recursion would end the process, and again after each
// restart if the message is in a queue on disk.
func TestDeepValues(t *testing.T) {
	profiletest.LimitStack(t, 32<<20)
	for name, features := range map[string]func(*Config){"alone": func(*Config) {}, "with everything": everything} {
		for _, place := range []string{"resource", "sample"} {
			t.Run(name+", in the "+place, func(t *testing.T) {
				with := func(action OnInvalid) func(*Config) {
					return func(cfg *Config) {
						features(cfg)
						cfg.OnInvalid = action
					}
				}
				dropping := start(t, &sink{}, with(OnInvalidDropProfile))
				require.NoError(t, dropping.ConsumeProfiles(t.Context(), tooDeep(place, deep)))
				require.EventuallyWithT(t, func(t *assert.CollectT) {
					assert.Equal(t, map[string]int64{"sound/2": 5}, dropping.next.totals())
				}, time.Minute, 10*time.Millisecond)

				rejecting := start(t, &sink{}, with(OnInvalidReject))
				err := rejecting.ConsumeProfiles(t.Context(), tooDeep(place, deep))
				require.ErrorContains(t, err, `attribute "deep" is too deep`)
				assert.True(t, consumererror.IsPermanent(err))
				assert.Zero(t, rejecting.next.calls())

				// The sink must not copy the message.
				profiles, arrived := 0, errors.New("arrived")
				passing := start(t, &sink{answer: func(_ int, pd pprofile.Profiles) error {
					profiles = pd.ProfileCount()
					return arrived
				}}, with(OnInvalidPass))
				require.ErrorIs(t, passing.ConsumeProfiles(t.Context(), tooDeep(place, deep)), arrived)
				assert.Equal(t, 2, profiles)
			})
		}
	}
}

// TestSharedDeepValues: pdata can copy a shared message with a deeply nested value.
func TestSharedDeepValues(t *testing.T) {
	profiletest.LimitStack(t, 32<<20)
	for name, features := range map[string]func(*Config){"alone": nil, "with everything": everything} {
		t.Run(name, func(t *testing.T) {
			f := start(t, &sink{}, features)
			pd := tooDeep("resource", deep/4)
			pd.MarkReadOnly()
			require.NoError(t, f.ConsumeProfiles(t.Context(), pd))
			require.EventuallyWithT(t, func(t *assert.CollectT) {
				assert.Equal(t, map[string]int64{"sound/2": 5}, f.next.totals())
			}, time.Minute, 10*time.Millisecond)
		})
	}
}

func TestMemoryOfDeepValues(t *testing.T) {
	pd := upload("deep", 1, 3)
	before := size.Of(pd)
	profiletest.Deepen(pd, "resource", deep)
	profiletest.LimitStack(t, 1<<20)
	grown := size.Of(pd) - before
	assert.Greater(t, grown, int64(deep*(24+attributevalue.ValueBytes)), "each level counts")
	assert.Less(t, grown, int64(deep*(24+attributevalue.KeyValueBytes+10)))
}
