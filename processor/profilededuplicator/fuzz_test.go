// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// FuzzConsume sends any message that pdata can read through a processor with all options enabled. The result must be
// canonical, and nothing may be held afterwards.
//
//	go test ./processor/profilededuplicator -run '^$' -fuzz FuzzConsume -fuzztime 100000x
func FuzzConsume(f *testing.F) {
	for name, message := range ownMessages(f) {
		if len(message) < 20_000 {
			f.Add(message, name == "pprof/mutex.pb.gz")
		}
	}
	f.Add(profiletest.Marshal(f, together(upload("a", 1, 1, 2, 3), spoil(upload("a", 2, 1)), upload("a", 3, 4))), true)
	faulty := upload("a", 4, 1)
	faulty.Dictionary().StringTable().SetAt(3, "f\xff")
	f.Add(profiletest.Marshal(f, faulty), false)
	f.Fuzz(func(t *testing.T, message []byte, batch bool) {
		if len(message) > 100_000 {
			t.Skip("long messages are slow, and no other")
		}
		pd, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(message)
		if err != nil {
			return
		}
		next := &sink{}
		p := start(t, next, repeatedOf(func(cfg *Config) {
			if batch {
				batchOf(func(cfg *BatchConfig) { cfg.Timeout, cfg.MaxSamples, cfg.MaxBytes = time.Hour, 3, 300 })(cfg)
				cfg.MergeProfiles.GetOrInsertDefault()
			}
		}))
		err = p.ConsumeProfiles(t.Context(), clone(pd))
		var tooLarge *dedup.TooLargeError
		require.True(t, err == nil || batch && errors.As(err, &tooLarge), err)
		require.NoError(t, p.Shutdown(t.Context()))
		for _, out := range next.taken() {
			require.NoError(t, profiletest.CheckOptions{
				Deduplicated: true, AllowMixedShapes: true, AllowTimestampsOutside: true,
			}.Check(out))
		}
		if batch {
			memory, tenants := p.Profiles.(*deduplicator).batching.usage()
			assert.Zero(t, memory)
			assert.Zero(t, tenants)
			used, _ := p.budget.Used()
			assert.Zero(t, used)
		}
	})
}
