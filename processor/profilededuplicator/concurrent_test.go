// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/memory/size"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

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
		cfg.MaxHeldBytes = 20 * (size.Of(upload("0", 1, 1, 2, 3)) + messageOverhead)
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
	memory, left := f.Profiles.(*deduplicator).batching.batches.usage()
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
