// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/featuregate"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/xpdata/pref"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
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
				with := func(action dedup.OnInvalid) func(*Config) {
					return func(cfg *Config) {
						features(cfg)
						cfg.OnInvalid = action
					}
				}
				dropping := start(t, &sink{}, with(dedup.DropProfile))
				require.NoError(t, dropping.ConsumeProfiles(t.Context(), tooDeep(place, deep)))
				require.EventuallyWithT(t, func(t *assert.CollectT) {
					assert.Equal(t, map[string]int64{"sound/2": 5}, dropping.next.totals())
				}, time.Minute, 10*time.Millisecond)

				rejecting := start(t, &sink{}, with(dedup.Reject))
				err := rejecting.ConsumeProfiles(t.Context(), tooDeep(place, deep))
				require.ErrorContains(t, err, `attribute "deep" is too deep`)
				assert.True(t, consumererror.IsPermanent(err))
				assert.Zero(t, rejecting.next.calls())

				// The sink must not copy the message.
				profiles, arrived := 0, errors.New("arrived")
				passing := start(t, &sink{answer: func(_ int, pd pprofile.Profiles) error {
					profiles = pd.ProfileCount()
					return arrived
				}}, with(dedup.Pass))
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

// Many tenants send at the same time. The processor can hold messages of only a few, and the next consumer is slow and
// sometimes refuses. All accepted messages must be delivered, without mixing tenants.
func TestManyTenantsAtOnce(t *testing.T) {
	const tenants, messages = 12, 40
	next := &sink{answer: func(call int, _ pprofile.Profiles) error {
		time.Sleep(time.Duration(call%3) * 100 * time.Microsecond)
		if call%7 == 0 {
			return errNotNow
		}
		return nil
	}}
	f := start(t, next, batchOf(func(cfg *BatchConfig) {
		cfg.Timeout, cfg.MaxSamples, cfg.MaxBytes = time.Millisecond, 50, 0
		cfg.MaxHeldBytes = 20 * (dictionary.MessageMemory(upload("0", 1, 1, 2, 3)) + messageOverhead)
		cfg.MetadataKeys, cfg.MetadataCardinalityLimit = []string{"x-tenant"}, tenants/2
		cfg.RetryConfig.InitialInterval = time.Millisecond
	}))
	want := map[string]int64{}
	var mu sync.Mutex
	var senders sync.WaitGroup
	for tenant := range tenants {
		senders.Go(func() {
			random := rand.New(rand.NewPCG(uint64(tenant), 1))
			service := strconv.Itoa(tenant)
			for i := range messages {
				values := make([]int64, 1+random.IntN(4))
				sum := int64(0)
				for k := range values {
					values[k] = random.Int64N(1000)
					sum += values[k]
				}
				for f.ConsumeProfiles(from(t.Context(), "x-tenant", service), upload(service, byte(i+1), values...)) != nil {
					time.Sleep(50 * time.Microsecond)
				}
				mu.Lock()
				want[service] += sum
				mu.Unlock()
			}
		})
	}
	senders.Wait()
	require.NoError(t, f.Shutdown(t.Context()))
	got := map[string]int64{}
	for key, sum := range next.totals() {
		// The parts of a profile that was split have new ids.
		service, _, _ := strings.Cut(key, "/")
		got[service] += sum
	}
	assert.Equal(t, want, got)
	for i, pd := range next.taken() {
		tenant := client.FromContext(next.contexts()[i]).Metadata.Get("x-tenant")
		require.Equal(t, 1, pd.ResourceProfiles().Len())
		service, _ := pd.ResourceProfiles().At(0).Resource().Attributes().Get("service.name")
		assert.Equal(t, []string{service.Str()}, tenant)
	}
	memory, left := f.Profiles.(*deduplicator).batching.usage()
	assert.Zero(t, memory)
	assert.Zero(t, left)
	assert.Empty(t, f.lost())
}

// Several components may read one message at the same time.
func TestSharedMessage(t *testing.T) {
	for name, change := range map[string]func(*Config){"synchronous": nil, "batch": batchOf(nil)} {
		t.Run(name, func(t *testing.T) {
			next := &sink{}
			f := start(t, next, change)
			shared := together(upload("checkout", 1, 1, 2), upload("checkout", 1, 3, 4))
			before := profiletest.Marshal(t, clone(shared))
			shared.MarkReadOnly()
			var senders sync.WaitGroup
			for range 8 {
				senders.Go(func() { assert.NoError(t, f.Profiles.ConsumeProfiles(t.Context(), shared)) })
			}
			senders.Wait()
			require.NoError(t, f.Shutdown(t.Context()))
			assert.Equal(t, map[string]int64{"checkout/1": 80}, next.totals())
			assert.Equal(t, before, profiletest.Marshal(t, clone(shared)))
		})
	}
}
